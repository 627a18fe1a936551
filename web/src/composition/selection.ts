// Purpose: the panel of the selected frame: what stacks through it hold at the instant, their roles, phases and
// stack.

import {tame} from '../draw/text';
import type {App, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import type {Composition} from '../store/composition';
import {type ProcessStore, storeOf} from '../store/process_store';
import {isHidden} from '../store/shown_tree';
import {type Site, sitesAt} from '../store/sites';
import {button, element} from '../dom/element';

const PAUSE = 80; // ms
const LARGEST = 10, MOST_FRAMES = 60;

interface Held {
  bytes: number;
  blocks: number;
  readonly bands: Map<string, number>;
  readonly phases: Map<string, number>;
  /** The leaf of the path that holds most, and how many paths there are. */
  leaf: number;
  paths: number;
}

function held(store: ProcessStore, composition: Composition, node: number): Held {
  const {group, bands} = store.tables, through = store.through(node);
  const out: Held = {bytes: 0, blocks: 0, bands: new Map(), phases: new Map(), leaf: 0, paths: 0};
  const byLeaf = new Map<number, number>();
  const add = (map: Map<string, number>, key: string, amount: number) =>
      map.set(key, (map.get(key) ?? 0) + amount);
  for (let g = 0; g < composition.bytes.length; g++) {
    const leaf = group.leaf[g], amount = composition.bytes[g];
    if (amount === 0 || through[leaf] === 0) continue;
    out.bytes += amount;
    out.blocks += composition.blocks[g];
    add(out.bands, bands[group.band[g]], amount);
    add(out.phases, store.text(group.phase[g]) || 'outside phases', amount);
    byLeaf.set(leaf, (byLeaf.get(leaf) ?? 0) + amount);
  }
  out.paths = byLeaf.size;
  let most = -1;
  for (const [leaf, amount] of byLeaf) {
    if (amount > most) [most, out.leaf] = [amount, leaf];
  }
  return out;
}

function shares(map: ReadonlyMap<string, number>): string {
  const sorted = [...map].sort((a, b) => b[1] - a[1]);
  if (sorted.length === 1) return sorted[0][0];
  const first = sorted.slice(0, 4).map(([name, amount]) => `${name} ${bytes(amount)}`).join(', ');
  return sorted.length > 4 ? `${first}, ${sorted.length - 4} more` : first;
}

export class Selection {
  readonly element = element('aside', {class: 'selection'});
  private key = '';
  private filled = -PAUSE;
  private waiting = 0;

  constructor(private readonly app: App) { this.element.setAttribute('aria-label', 'Selection'); }

  update(state: ViewState): void {
    const store = storeOf(this.app.page, state.process), node = store.node(state.selected);
    const key = [state.process, state.lane, state.at, state.hidden, node, state.by, state.allFrames].join('|');
    if (key === this.key || state.at === null) return;
    // During a drag the list follows every 80 ms: a layout of the page in each frame would hold up the drawing.
    const now = performance.now();
    if (now - this.filled < PAUSE) {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.app.redraw(), PAUSE) as unknown as number;
      return;
    }
    this.filled = now;
    this.key = key;
    const composition = store.composition(state.lane, state.at, state.hidden);
    if (composition === null)
      this.element.replaceChildren();
    else if (node === null)
      this.largest(store, state, composition);
    else
      this.selected(store, state, composition, node);
  }

  private largest(store: ProcessStore, state: ViewState, composition: Composition): void {
    const sites = sitesAt(store.tables, store.sites(state.by), composition).filter((one) => one.node > 0);
    const list = element('ol', {class: 'sites'});
    for (const site of sites.slice(0, LARGEST)) list.append(this.site(store, site, composition));
    const title = state.by === 'line' ? 'Largest lines of your code' : 'Largest sites';
    this.element.replaceChildren(element('h3', {text: title}), list);
    if (sites.length > LARGEST) {
      const text = `${sites.length - LARGEST} more: press t for the table`;
      this.element.append(element('p', {class: 'muted', text}));
    }
  }

  private site(store: ProcessStore, site: Site, composition: Composition): HTMLElement {
    const item = element('li'), swatch = element('span', {class: 'swatch'}), name = element('span', {class: 'name'});
    swatch.dataset.band = store.tables.bands[site.band].replace(/ /g, '-');
    name.append(
        element('span', {class: 'function', text: tame(store.frames.name(site.node)).slice(0, 300)}),
        element('span', {class: 'place', text: tame(store.frames.place(site.node)).slice(0, 300)}));
    const amount = element('span', {class: 'amount', text: bytes(site.bytes)});
    const percent = (100 * site.bytes / Math.max(1, composition.level)).toFixed(1);
    const share = element('span', {class: 'share', text: `${percent} %`});
    const pick = button('', () => this.app.go({selected: site.node}));
    pick.append(swatch, name, amount, share);
    item.append(pick);
    return item;
  }

  private selected(store: ProcessStore, state: ViewState, composition: Composition, node: number): void {
    const {frames} = store, sum = held(store, composition, node), facts = element('dl', {class: 'facts'});
    const fact = (name: string, value: string) =>
        facts.append(element('dt', {text: name}), element('dd', {text: value}));
    const share = (100 * sum.bytes / Math.max(1, composition.level)).toFixed(1);
    fact('live', `${bytes(sum.bytes)}, ${share} %`);
    fact('blocks', sum.blocks.toLocaleString('en'));
    if (sum.bytes > 0) {
      fact('holds', shares(sum.bands));
      fact('born in', shares(sum.phases));
    }
    const heading = element('h3', {text: tame(frames.name(node)).slice(0, 300)});
    const place = element('p', {class: 'muted place', text: tame(frames.full(node)).slice(0, 500)});
    const stack = frames.stack(sum.leaf > 0 ? sum.leaf : node);
    this.element.replaceChildren(
        heading, place, facts, this.stackTitle(sum), this.stack(store, state, stack, node),
        this.actions(store, stack));
  }

  private stackTitle(sum: Held): HTMLElement {
    const text = sum.paths > 1 ? `Largest of ${sum.paths.toLocaleString('en')} stacks, youngest frame first` :
                                 'Stack, youngest frame first';
    return element('h4', {text});
  }

  private stack(store: ProcessStore, state: ViewState, stack: readonly number[], node: number): HTMLElement {
    const {frames} = store, list = element('ol', {class: 'stack'});
    let folded = 0;
    const fold = () => {
      const text = `${folded} hidden ${folded === 1 ? 'frame' : 'frames'}`;
      if (folded > 0) list.append(element('li', {class: 'muted', text}));
      folded = 0;
    };
    for (const one of stack.slice(0, MOST_FRAMES)) {
      if (!state.allFrames && isHidden(store.tables, one) && one !== node) {
        folded++;
        continue;
      }
      fold();
      const item = element('li'), pick = button('', () => this.app.go({selected: one}));
      pick.append(
          element('span', {class: 'function', text: tame(frames.name(one)).slice(0, 300)}),
          element('span', {class: 'place', text: tame(frames.place(one)).slice(0, 300)}));
      if (frames.same(one, node)) pick.setAttribute('aria-current', 'true');
      if (frames.userLine(one) === one) pick.classList.add('own');
      item.append(pick);
      list.append(item);
    }
    fold();
    if (stack.length > MOST_FRAMES)
      list.append(element('li', {class: 'muted', text: `${stack.length - MOST_FRAMES} more frames`}));
    return list;
  }

  private actions(store: ProcessStore, stack: readonly number[]): HTMLElement {
    const row = element('p', {class: 'actions'}), {frames} = store;
    const text = () => stack.map((one) => `${frames.name(one)} ${frames.full(one)}`).join('\n');
    const copy = button('Copy stack', () => {
      void navigator.clipboard?.writeText(text()).then(() => this.app.announce('copied'), () => undefined);
    });
    const clear = button('Clear selection', () => this.app.go({selected: null}), {title: 'Escape'});
    row.append(copy, clear);
    return row;
  }
}
