// Purpose: the search: a field, what it found, and the way from match to match.

import type {App, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import {type ProcessStore, storeOf} from '../store/process_store';
import {matchedBytes} from '../store/search';
import {element, say} from '../dom/element';

export class SearchBox {
  readonly element = element('div', {class: 'search'});
  private readonly field = element('input');
  private readonly told = element('span', {class: 'muted'});

  constructor(private readonly app: App) {
    const {field} = this;
    field.type = 'search';
    field.placeholder = 'Search: words, re:, role:, phase:, file:, size>10M';
    field.setAttribute('aria-label', 'Search frames');
    field.spellcheck = false;
    field.addEventListener('input', () => app.go({search: field.value}, 'drag'));
    field.addEventListener('keydown', (event) => this.key(event));
    this.told.setAttribute('role', 'status');
    this.element.append(field, this.told);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === 'Enter')
      this.next(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape')
      this.leave();
    else
      return;
    event.preventDefault();
  }

  private leave(): void {
    if (this.field.value !== '')
      this.app.go({search: ''});
    else
      this.field.blur();
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  /** Matching frames with live bytes, those of most bytes first; equal frames once. */
  private matches(store: ProcessStore, state: ViewState): number[] {
    const found = store.search(state.search);
    if (found === null || state.at === null) return [];
    const sums = store.frameSums(state, false);
    if (sums === null) return [];
    const seen = new Map<string, [number, number]>(), {tree} = store.tables;
    for (let i = 1; i < sums.tree.count; i++) {
      const frame = sums.tree.frame[i];
      if (sums.total[i] <= 0 || found.frame[frame] === 0) continue;
      const key = `${tree.function [frame]} ${tree.file[frame]} ${tree.line[frame]}`, before = seen.get(key);
      seen.set(key, [before?.[0] ?? frame, (before?.[1] ?? 0) + sums.total[i]]);
    }
    return [...seen.values()].sort((a, b) => b[1] - a[1]).map((one) => one[0]);
  }

  next(by: 1|- 1): void {
    const {state} = this.app, store = storeOf(this.app.page, state.process), list = this.matches(store, state);
    if (list.length === 0) {
      this.app.announce('no frame matches');
      return;
    }
    const selected = store.node(state.selected);
    const now = selected === null ? -1 : list.findIndex((one) => store.frames.same(one, selected));
    const to = now < 0 ? (by > 0 ? 0 : list.length - 1) : (now + by + list.length) % list.length;
    this.app.go({selected: list[to]});
    this.app.announce(`match ${to + 1} of ${list.length}: ${store.frames.label(list[to])}`);
  }

  update(state: ViewState): void {
    if (this.field.value !== state.search) this.field.value = state.search;
    const store = storeOf(this.app.page, state.process), query = store.query(state.search);
    const found = store.search(state.search);
    const composition = state.at === null ? null : store.composition(state.lane, state.at, state.hidden);
    if (query.wrong !== '')
      say(this.told, query.wrong);
    else if (found === null || composition === null)
      say(this.told, '');
    else {
      const sum = matchedBytes(store.tables, found, composition);
      const share = (100 * sum / Math.max(1, composition.level)).toFixed(1);
      const frames = query.words.length + query.files.length > 0 ?
          `${found.frames.toLocaleString('en')} ${found.frames === 1 ? 'frame' : 'frames'}, ` :
          '';
      say(this.told, `${frames}${bytes(sum)}, ${share} % of live`);
    }
  }
}
