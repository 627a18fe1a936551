// Purpose: the flame graph of live bytes by stack: frames that hold others lie above them.

import {Canvas, FONT} from '../draw/canvas';
import {fillBand, underText} from '../draw/hatch';
import {type Palette, palette} from '../draw/palette';
import {fitted, setFont, tame, widthOf} from '../draw/text';
import type {App, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import type {FrameSums} from '../store/frame_sums';
import {type ProcessStore, storeOf} from '../store/process_store';
import {shownMatches} from '../store/search';
import {restName} from '../store/sites';
import {InView} from '../dom/in_view';
import {measuredWidth} from '../dom/measured';

const ROW = 20, MOST_ROWS = 300;

export class Flame {
  readonly element = document.createElement('div');
  private readonly canvas = new Canvas();
  private readonly view: InView;
  private sums: FrameSums|null = null;
  private focus = 0;
  /** The node with the keyboard. */
  private current = 0;
  private drawn: number[] = [];
  private perPixel = 1;
  private left = 0;
  private key = '';

  constructor(private readonly app: App, private readonly hovered: (text: string) => void) {
    const {element, canvas} = this;
    element.className = 'flame';
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    element.setAttribute('aria-roledescription', 'flame graph');
    element.setAttribute(
        'aria-label', 'Live bytes by stack. Arrows walk, Enter selects and focuses, Escape leaves.');
    canvas.element.setAttribute('aria-hidden', 'true');
    element.append(canvas.element);
    this.view = new InView(element, () => app.redraw());
    element.addEventListener('click', (event) => this.click(event, false));
    element.addEventListener('dblclick', (event) => this.click(event, true));
    element.addEventListener('pointermove', (event) => this.hovered(this.words(this.hit(event))));
    element.addEventListener('pointerleave', () => this.hovered(''));
    element.addEventListener('keydown', (event) => this.walk(event));
    element.addEventListener('focus', () => this.say());
  }

  private get store(): ProcessStore { return storeOf(this.app.page, this.app.state.process); }

  private hit(event: MouseEvent): number {
    const box = this.canvas.element.getBoundingClientRect(), {sums} = this;
    if (sums === null) return -1;
    const depth = Math.floor((event.clientY - box.top) / ROW),
          at = this.left + (event.clientX - box.left) * this.perPixel;
    for (const node of this.drawn) {
      if (sums.tree.depth[node] !== depth) continue;
      const above = depth < sums.tree.depth[this.focus];
      if (above || (sums.start[node] <= at && at < sums.start[node] + sums.total[node])) return node;
    }
    return -1;
  }

  name(node: number): string {
    const {sums, store} = this;
    if (sums === null || node < 0) return '';
    if (node === 0) return 'all';
    const memory = store.lane(this.app.state.lane).memory;
    if (node === sums.tree.rest) return restName(memory);
    return node === sums.tree.bare ? 'no stack recorded' : store.frames.label(sums.tree.frame[node]);
  }

  private words(node: number): string {
    const {sums} = this;
    if (sums === null || node < 0) return '';
    const share = 100 * sums.total[node] / Math.max(1, sums.total[0]);
    return `${tame(this.name(node)).slice(0, 200)}: ${bytes(sums.total[node])}, ${share.toFixed(1)} %`;
  }

  private click(event: MouseEvent, twice: boolean): void {
    const node = this.hit(event);
    if (node < 0) return;
    this.current = node;
    this.choose(
        node, twice || (this.sums !== null && this.sums.tree.depth[node] < this.sums.tree.depth[this.focus]));
  }

  private choose(node: number, focus: boolean): void {
    const frame = this.sums?.tree.frame[node] ?? 0;
    const selected = frame > 0 ? frame : null;
    this.app.go(focus ? {selected, focus: node > 0 ? node : null} : {selected});
  }

  /** The child of most bytes, or the nearest sibling to one side; -1: none. */
  private child(node: number): number {
    const {sums} = this;
    let best = -1;
    for (const one of this.drawn) {
      if (sums !== null && one !== node && sums.tree.parent[one] === node && one > 0 &&
          (best < 0 || sums.total[one] > sums.total[best])) {
        best = one;
      }
    }
    return best;
  }

  private sibling(node: number, by: 1|- 1): number {
    const {sums} = this;
    if (sums === null) return -1;
    const same = this.drawn.filter((one) => sums.tree.depth[one] === sums.tree.depth[node])
                     .sort((a, b) => sums.start[a] - sums.start[b]);
    return same[same.indexOf(node) + by] ?? -1;
  }

  private walk(event: KeyboardEvent): void {
    const {sums, current} = this;
    if (sums === null || event.ctrlKey || event.metaKey || event.altKey) return;
    let to = -1;
    switch (event.key) {
      case 'ArrowDown':
        to = this.child(current);
        break;
      case 'ArrowUp':
        to = current === 0 ? -1 : sums.tree.parent[current];
        break;
      case 'ArrowLeft':
        to = this.sibling(current, -1);
        break;
      case 'ArrowRight':
        to = this.sibling(current, 1);
        break;
      case 'Enter':
        this.choose(current, true);
        break;
      case 'Escape':
        if (this.app.state.focus === null) return;
        this.app.go({focus: null});
        break;
      default:
        return;
    }
    event.preventDefault();
    if (to >= 0) {
      this.current = to;
      this.key = '';
      this.app.redraw();
    }
    this.say();
  }

  private say(): void {
    const text = this.words(this.current);
    this.hovered(text);
    this.app.announce(text);
  }

  update(state: ViewState): void {
    const width = measuredWidth(this.element), {store} = this;
    if (width === 0 || state.at === null || !this.view.now) return;
    const sums = store.frameSums(state, state.callers);
    const colours = palette(store.tables.bands);
    if (sums === null) return;
    this.sums = sums;
    this.focus =
        state.focus !== null && state.focus < sums.tree.count && sums.total[state.focus] > 0 ? state.focus : 0;
    if (this.current >= sums.tree.count || sums.total[this.current] === 0) this.current = this.focus;
    let depth = 1;
    for (let i = 0; i < sums.tree.count; i++) {
      if (sums.total[i] > 0 && sums.tree.depth[i] > depth) depth = sums.tree.depth[i];
    }
    const rows = Math.min(MOST_ROWS, depth + 1);
    const resized = this.canvas.fit(width, rows * ROW + 1);
    const focused = document.activeElement === this.element;
    const key = [
      state.process, state.lane, state.at, state.hidden, state.callers, state.allFrames, state.selected, this.focus,
      state.search, colours.background, this.current, focused
    ].join('|');
    if (!resized && key === this.key) return;
    this.key = key;
    this.draw(state, sums, colours, focused);
  }

  private draw(state: ViewState, sums: FrameSums, colours: Palette, focused: boolean): void {
    const context = this.canvas.begin(colours.background), {tree, total, start} = sums, {store} = this;
    const {width} = this.canvas;
    const found = store.search(state.search);
    const matches = found === null ? null : shownMatches(store.tables, tree, found);
    const selected = store.node(state.selected);
    this.left = start[this.focus];
    this.perPixel = Math.max(1e-9, total[this.focus] / width);
    this.drawn = [];
    setFont(context, `11.5px ${FONT}`);
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const line = this.ancestors(sums);
    for (let i = 0; i < tree.count; i++) {
      if (total[i] <= 0 || tree.depth[i] >= MOST_ROWS) continue;
      const above = tree.depth[i] < tree.depth[this.focus];
      if (above && !line.has(i)) continue;
      const a = above ? 0 : (start[i] - this.left) / this.perPixel,
            b = above ? width : a + total[i] / this.perPixel;
      if (b <= 0.5 || a >= width - 0.5 || b - a < 1) continue;
      this.drawn.push(i);
      const faded = above || (matches !== null && matches[i] === 0);
      const strong = selected !== null && tree.frame[i] > 0 && store.frames.same(tree.frame[i], selected);
      this.frame(context, sums, i, Math.max(0, a), Math.min(width, b), faded, colours);
      if (strong)
        this.outline(context, tree.depth[i], a, b, colours.text, 2);
      else if (matches !== null && matches[i] === 2)
        this.outline(context, tree.depth[i], a, b, colours.text, 1);
      if (focused && i === this.current) this.outline(context, tree.depth[i], a, b, colours.focus, 3);
    }
  }

  private ancestors(sums: FrameSums): Set<number> {
    const out = new Set<number>([0]);
    for (let at = this.focus; at !== 0; at = sums.tree.parent[at]) out.add(at);
    return out;
  }

  private outline(
      context: CanvasRenderingContext2D, depth: number, a: number, b: number, colour: string,
      width: number): void {
    context.strokeStyle = colour;
    context.lineWidth = width;
    const inset = width / 2;
    context.strokeRect(a + inset, depth * ROW + inset, Math.max(1, b - a - 1 - width), ROW - 1 - width);
  }

  private frame(
      context: CanvasRenderingContext2D, sums: FrameSums, node: number, a: number, b: number, faded: boolean,
      colours: Palette): void {
    const y = sums.tree.depth[node] * ROW, width = Math.max(1, b - a - 1), band = sums.largest[node];
    const text = b - a < 26 ? '' : node === 0 ? `all ${bytes(sums.total[0])}` : tame(this.name(node));
    if (node === 0 || faded) {
      context.fillStyle = colours.surface;
      context.fillRect(a, y, width, ROW - 1);
      if (node > 0) {
        context.globalAlpha = 0.35;
        context.fillStyle = colours.bands[band];
        context.fillRect(a, y + ROW - 4, width, 3);
        context.globalAlpha = 1;
      }
    } else {
      fillBand(context, band, a, y, width, ROW - 1, colours);
      this.mix(context, sums, node, a, y, width, colours);
    }
    const said = fitted(context, text, width - 8);
    if (said === '') return;
    if (node !== 0 && !faded)
      underText(context, band, a + 2, y + 3, widthOf(context, said) + 4, ROW - 8, colours);
    context.fillStyle = node === 0 ? colours.text : faded ? colours.muted : colours.labels[band];
    context.fillText(said, a + 4, y + ROW / 2 - 0.5);
  }

  /** A thin bar at the bottom of a frame whose bytes are of several bands. */
  private mix(
      context: CanvasRenderingContext2D, sums: FrameSums, node: number, a: number, y: number, width: number,
      colours: Palette): void {
    const bands = colours.bands.length, whole = sums.total[node];
    if (width < 12 || sums.bands[node * bands + sums.largest[node]] > 0.97 * whole) return;
    context.fillStyle = colours.background;
    context.fillRect(a, y + ROW - 5, width, 1);
    let from = 0;
    for (let b = 0; b < bands; b++) {
      const share = width * sums.bands[node * bands + b] / whole;
      if (share < 0.5) continue;
      context.fillStyle = colours.bands[b];
      context.fillRect(a + from, y + ROW - 4, share, 3);
      from += share;
    }
  }
}
