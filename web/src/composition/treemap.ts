// Purpose: the treemap of live bytes: bands, and in each band its sites.

import {Canvas, FONT} from '../draw/canvas';
import {fillBand, underText} from '../draw/hatch';
import {type Palette, palette} from '../draw/palette';
import {type Rect, squarify} from '../draw/squarify';
import {fitted, setFont, tame, widthOf} from '../draw/text';
import type {App, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import type {Composition} from '../store/composition';
import {type ProcessStore, storeOf} from '../store/process_store';
import type {Found} from '../store/search';
import {restName, type Site, sitesAt} from '../store/sites';
import {InView} from '../dom/in_view';
import {measuredWidth} from '../dom/measured';

const MOST = 2000, HEAD = 18, HEIGHT = 220;

interface Box extends Rect {
  readonly band: number;
  /** Null: the sites that are too small for boxes of their own. */
  readonly site: Site|null;
  readonly more: number;
}

interface Group extends Rect {
  readonly band: number;
  readonly bytes: number;
  readonly head: boolean;
}

export class Treemap {
  readonly element = document.createElement('div');
  private readonly canvas = new Canvas();
  private readonly view: InView;
  private boxes: Box[] = [];
  private groups: Group[] = [];
  private level = 1;
  private key = '';

  constructor(private readonly app: App, private readonly hovered: (text: string) => void) {
    const {element, canvas} = this;
    element.className = 'treemap';
    element.setAttribute('role', 'img');
    element.setAttribute('aria-label', 'Live bytes by band and site. The key t shows them as a table.');
    element.append(canvas.element);
    this.view = new InView(element, () => app.redraw());
    element.addEventListener('click', (event) => this.click(event));
    element.addEventListener('pointermove', (event) => this.hovered(this.words(this.hit(event))));
    element.addEventListener('pointerleave', () => this.hovered(''));
  }

  private get store(): ProcessStore { return storeOf(this.app.page, this.app.state.process); }

  private hit(event: MouseEvent): Box|null {
    const box = this.canvas.element.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    return this.boxes.find(
               (one) => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height) ??
        null;
  }

  private name(box: Box): string {
    const {site} = box, {store} = this;
    if (site === null) return `${box.more} more`;
    if (site.rest) return restName(store.lane(this.app.state.lane).memory);
    return site.node === 0 ? 'no stack recorded' : tame(store.frames.label(site.node));
  }

  private words(box: Box|null): string {
    if (box === null) return '';
    const held = box.site?.bytes ?? 0, band = this.store.tables.bands[box.band];
    const share = `${(100 * held / this.level).toFixed(1)} %`;
    return box.site === null ? `${box.more} more sites of ${band}` :
                               `${this.name(box)}: ${bytes(held)}, ${share}, ${band}`;
  }

  private click(event: MouseEvent): void {
    const node = this.hit(event)?.site?.node ?? 0;
    this.app.go({selected: node > 0 && node !== this.app.state.selected ? node : null});
  }

  update(state: ViewState): void {
    const width = measuredWidth(this.element), {store} = this;
    if (width === 0 || state.at === null || !this.view.now) return;
    const composition = store.composition(state.lane, state.at, state.hidden), colours = palette(store.tables.bands);
    if (composition === null) return;
    const resized = this.canvas.fit(width, HEIGHT);
    const key = [
      state.process, state.lane, state.at, state.hidden, state.by, state.selected, state.search, colours.background
    ].join('|');
    if (!resized && key === this.key) return;
    this.key = key;
    this.level = Math.max(1, composition.level);
    this.layOut(sitesAt(store.tables, store.sites(state.by), composition));
    this.draw(state, composition, colours);
  }

  private layOut(sites: readonly Site[]): void {
    const byBand = new Map<number, Site[]>();
    for (const site of sites) {
      if (site.bytes <= 0) continue;
      const list = byBand.get(site.band);
      if (list === undefined)
        byBand.set(site.band, [site]);
      else
        list.push(site);
    }
    const sum = (list: readonly Site[]) => list.reduce((all, one) => all + one.bytes, 0);
    const bands =
        [...byBand].map(([band, list]) => ({band, list, held: sum(list)})).sort((a, b) => b.held - a.held);
    const rects =
        squarify(bands.map((one) => one.held), {x: 0, y: 0, width: this.canvas.width, height: HEIGHT});
    this.boxes = [];
    this.groups = [];
    bands.forEach(({band, list, held}, i) => {
      const {x, y, width, height} = rects[i], head = height >= 54 && width >= 60;
      this.groups.push({x, y, width, height, band, bytes: held, head});
      const top = head ? HEAD : 0;
      this.fill(
          band, list, {x, y: y + top, width: Math.max(0, width - 2), height: Math.max(0, height - top - 2)});
    });
  }

  /** Sites that would be smaller than a few pixels are one box. */
  private fill(band: number, list: readonly Site[], within: Rect): void {
    const area = within.width * within.height, held = list.reduce((all, one) => all + one.bytes, 0);
    let count = 0;
    while (count < list.length && list[count].bytes / held * area >= 24 && this.boxes.length + count < MOST)
      count++;
    const rest = list.slice(count).reduce((all, one) => all + one.bytes, 0),
          amounts = list.slice(0, count).map((one) => one.bytes);
    const few = count < list.length;
    if (few) amounts.push(rest);
    squarify(amounts, within).forEach((rect, i) => {
      const folded = few && i === amounts.length - 1;
      this.boxes.push({...rect, band, site: folded ? null : list[i], more: list.length - count});
    });
  }

  private draw(state: ViewState, composition: Composition, colours: Palette): void {
    const context = this.canvas.begin(colours.background), {store} = this, found = store.search(state.search);
    const selected = store.node(state.selected);
    const through = selected === null ? null : store.through(selected);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const matched = found === null ? null : this.matched(found, composition, state.by);
    for (const box of this.boxes) {
      const node = box.site?.node ?? 0, faded = matched !== null && !matched.has(node * 256 + box.band);
      this.box(context, box, faded, colours);
      if (through !== null && node > 0 && (through[node] === 1 || node === selected)) {
        context.strokeStyle = colours.text;
        context.lineWidth = 2;
        context.strokeRect(box.x + 1, box.y + 1, Math.max(1, box.width - 3), Math.max(1, box.height - 3));
      }
    }
    setFont(context, `600 11.5px ${FONT}`);
    for (const one of this.groups) {
      if (!one.head) continue;
      const name = store.tables.bands[one.band],
            share = (100 * one.bytes / this.level).toFixed(one.bytes * 10 < this.level ? 1 : 0);
      context.fillStyle = colours.text;
      context.fillText(
          fitted(context, `${name}  ${bytes(one.bytes)}, ${share} %`, one.width - 4) ||
              fitted(context, name, one.width - 4),
          one.x + 1, one.y + HEAD / 2);
    }
  }

  /** The boxes, as node and band, in which something matches. */
  private matched(found: Found, composition: Composition, by: 'line'|'site'): Set<number> {
    const {group} = this.store.tables, {ofGroup} = this.store.sites(by), out = new Set<number>();
    for (let g = 0; g < ofGroup.length; g++) {
      if (composition.bytes[g] > 0 && found.group[g] === 1 && found.path[group.leaf[g]] === 1) {
        out.add(ofGroup[g] * 256 + group.band[g]);
      }
    }
    return out;
  }

  private box(context: CanvasRenderingContext2D, box: Box, faded: boolean, colours: Palette): void {
    const width = Math.max(0.5, box.width - 1), height = Math.max(0.5, box.height - 1);
    context.globalAlpha = faded ? 0.22 : box.site === null ? 0.6 : 1;
    fillBand(context, box.band, box.x, box.y, width, height, colours);
    context.globalAlpha = 1;
    if (height < 15) return;
    setFont(context, `11.5px ${FONT}`);
    const name = fitted(context, this.name(box), width - 8),
          colour = faded ? colours.text : colours.labels[box.band];
    if (name === '') return;
    const amount = bytes(box.site?.bytes ?? 0), two = height >= 32 && box.site !== null;
    underText(
        context, box.band, box.x + 2, box.y + 2, Math.min(width - 4, widthOf(context, name) + 5), two ? 30 : 15,
        colours);
    context.fillStyle = colour;
    context.fillText(name, box.x + 4, box.y + 10);
    if (two && widthOf(context, amount) <= width - 6) context.fillText(amount, box.x + 4, box.y + 25);
  }
}
