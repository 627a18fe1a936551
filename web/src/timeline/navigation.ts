// Purpose: moves in time: zoom, pan, steps, phase edges, peaks, findings, marks. Each returns the change of the
// state.

import type {ViewState} from '../state/app';
import {Columns} from '../store/columns';
import type {ProcessStore} from '../store/process_store';
import {lowerBound, upperBound} from '../store/search_sorted';

export type Change = Partial<ViewState>;

/** The shortest stretch that is shown, ns. */
export const SHORTEST = 1000;

export function zoom(state: ViewState, around: number, factor: number, end: number): Change {
  const span = state.to - state.from,
        wide = Math.max(SHORTEST, Math.min(Math.max(SHORTEST, end), span * factor));
  const from = Math.max(0, Math.min(end - wide, around - (around - state.from) * wide / span));
  return {from, to: from + wide};
}

export function pan(state: ViewState, by: number, end: number): Change {
  const span = state.to - state.from, from = Math.max(0, Math.min(end - span, state.from + by));
  return {from, to: from + span};
}

/** A stretch with a little room on both sides. */
export function show(from: number, to: number, end: number): Change {
  const room = Math.max(SHORTEST, (to - from) * 0.05);
  return {from: Math.max(0, from - room), to: Math.min(Math.max(end, SHORTEST), to + room)};
}

/** Picks an instant and moves the shown stretch to it if it lies outside. */
export function reach(state: ViewState, t: number, end: number): Change {
  if (t >= state.from && t <= state.to) return {at: t};
  return {at: t, ...pan(state, t - (state.from + state.to) / 2, end)};
}

export function step(store: ProcessStore, state: ViewState, by: 1|- 1): Change|null {
  const {start, end} = store.tables.step, middle = (state.from + state.to) / 2;
  if (start.length === 0) return null;
  const now = upperBound(start, middle) - 1;
  const shown = now >= 0 && state.to - state.from < 3 * (end[now] - start[now] + SHORTEST);
  // From a wide view the first key shows the step of the picked instant, or the nearest.
  let to = shown ? now + by : upperBound(start, state.at ?? middle) - 1 + (by > 0 && state.at === null ? 1 : 0);
  to = Math.max(0, Math.min(start.length - 1, to));
  return show(start[to], end[to], store.info.end);
}

export function edge(store: ProcessStore, state: ViewState, by: 1|- 1): Change|null {
  const {start, end} = store.tables.phase, t = state.at ?? (by > 0 ? state.from : state.to);
  let best: number|null = null;
  const take = (at: number) => {
    if (by > 0 ? at > t && (best === null || at < best) : at < t && (best === null || at > best)) best = at;
  };
  for (let i = 0; i < start.length; i++) {
    take(start[i]);
    take(end[i]);
  }
  return best === null ? null : reach(state, best, store.info.end);
}

const LOOKS = 400;

/** The next local peak of the lane at the zoom that is shown. */
export function peak(store: ProcessStore, state: ViewState, by: 1|- 1): Change|null {
  const columns = new Columns(LOOKS, store.tables.bands.length), grain = (state.to - state.from) / LOOKS;
  store.columns(state.lane, state.hidden).fill(state.from, grain, columns);
  const t = state.at ?? (by > 0 ? state.from : state.to);
  const high = columns.highest, found: number[] = [];
  for (let c = 0; c < LOOKS; c++) {
    let is = true;
    for (let d = -3; d <= 3 && is; d++) {
      const other = c + d;
      if (d !== 0 && other >= 0 && other < LOOKS) is = d < 0 ? high[c] > high[other] : high[c] >= high[other];
    }
    if (is && high[c] > 0) found.push(columns.at[c]);
  }
  const next = by > 0 ? found.find((at) => at > t) : found.reverse().find((at) => at < t);
  return next === undefined ? null : {at: next};
}

export function finding(store: ProcessStore, state: ViewState, by: 1|- 1): Change|null {
  const marks =
      store.info.marks.filter((one) => one.kind === 'finding').map((one) => one.t).sort((a, b) => a - b);
  const t = state.at ?? -1;
  const i = by > 0 ? upperBound(marks, t) : lowerBound(marks, t) - 1;
  return i < 0 || i >= marks.length ? null : reach(state, marks[i], store.info.end);
}

export function mark(store: ProcessStore, state: ViewState, number: number): Change|null {
  const set = state.marks[number - 1] ?? null;
  if (set !== null && set !== state.at) return reach(state, set, store.info.end);
  if (state.at === null) return null;
  const marks = [...state.marks];
  while (marks.length < 9) marks.push(null);
  // A second mark at the same place takes it away.
  marks[number - 1] = set === null ? state.at : null;
  return {marks};
}
