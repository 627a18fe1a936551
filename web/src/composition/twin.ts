// Purpose: the composition as tables: bands and largest sites at the picked instant.

import {tame} from '../draw/text';
import type {App, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import type {Composition} from '../store/composition';
import {type ProcessStore, storeOf} from '../store/process_store';
import {restName, sitesAt} from '../store/sites';
import {element} from '../dom/element';

const MOST = 100;

export class Twin {
  readonly element = element('div', {class: 'twins'});
  private key = '';

  constructor(private readonly app: App) {}

  update(state: ViewState): void {
    const key = [state.process, state.lane, state.at, state.hidden, state.by].join('|');
    if (key === this.key || state.at === null) return;
    this.key = key;
    const store = storeOf(this.app.page, state.process);
    const composition = store.composition(state.lane, state.at, state.hidden);
    if (composition === null)
      this.element.replaceChildren();
    else
      this.element.replaceChildren(this.bands(store, state, composition), this.sites(store, state, composition));
  }

  private bands(store: ProcessStore, state: ViewState, composition: Composition): HTMLElement {
    const {bands} = store.tables,
          share = (amount: number) => (100 * amount / Math.max(1, composition.level)).toFixed(1);
    const rows = [...composition.bands]
                     .map((held, b) => [b, held] as const)
                     .filter(([b, held]) => Math.abs(held) >= 1 && ((state.hidden >> b) & 1) === 0)
                     .sort((a, b) => b[1] - a[1])
                     .map(([b, held]) => [bands[b], bytes(held), share(held)]);
    rows.push(['sum', bytes(composition.level), '100.0']);
    return plainTable('Bands at the picked instant', ['band', 'bytes', '%'], rows, [1, 2]);
  }

  private sites(store: ProcessStore, state: ViewState, composition: Composition): HTMLElement {
    const all = sitesAt(store.tables, store.sites(state.by), composition), {frames} = store;
    const rows = all.slice(0, MOST).map((one) => {
      const name = one.rest ? restName(store.lane(state.lane).memory) :
          one.node === 0    ? 'no stack recorded' :
                              frames.name(one.node);
      const line = one.node === 0 ? 0 : frames.userLine(one.node);
      return [
        tame(name).slice(0, 300), one.node === 0 ? '' : tame(frames.place(one.node)).slice(0, 300),
        line === 0 ? '' : tame(frames.place(line)).slice(0, 300), store.tables.bands[one.band],
        bytes(one.bytes), one.rest ? '' : one.blocks.toLocaleString('en'),
        (100 * one.bytes / Math.max(1, composition.level)).toFixed(1)
      ];
    });
    const title = all.length > MOST ? `The ${MOST} largest of ${all.length} sites` : `All ${all.length} sites`;
    return plainTable(title, ['site', 'place', 'your line', 'band', 'bytes', 'blocks', '%'], rows, [4, 5, 6]);
  }
}

/** A table of texts; the columns of `right` hold numbers. */
function plainTable(
    caption: string, heads: readonly string[], rows: readonly(readonly string[])[],
    right: readonly number[]): HTMLTableElement {
  const table = element('table', {class: 'twin'}), head = element('thead'), body = element('tbody');
  const line = element('tr');
  table.append(element('caption', {text: caption}), head, body);
  const kind = (i: number) => (right.includes(i) ? 'number' : '');
  heads.forEach((text, i) => {
    const cell = element('th', {class: kind(i), text});
    cell.scope = 'col';
    line.append(cell);
  });
  head.append(line);
  for (const row of rows) {
    const out = element('tr');
    row.forEach((text, i) => out.append(element('td', {class: kind(i), text})));
    body.append(out);
  }
  return table;
}
