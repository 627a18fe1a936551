// Purpose: the window and the rows of each column of pixels. They are the same in all lanes, so they are searched once.

import {LEAF} from './row_levels';
import {lowerNear} from './search_sorted';
import type {Tables} from './tables';

/**
 * A column of so many rows begins and ends with a leaf of RowLevels. It is off by less than 1/8 of a pixel, and takes
 * half the time.
 */
const COARSE = 8 * LEAF;

/** The times of the first row of each leaf of a window. */
function leafTimes(time: Float64Array, first: number, rows: number): Float64Array {
  const out = new Float64Array(Math.ceil(rows / LEAF));
  for (let leaf = 0; leaf < out.length; leaf++) out[leaf] = time[first + leaf * LEAF];
  return out;
}

export class ColumnRows {
  /** By column: the window that stores all its events; -1: none. */
  window = new Int32Array(0);
  /** By column: its rows are [from, to). */
  from = new Uint32Array(0);
  to = new Uint32Array(0);
  private readonly asked = new Float64Array(4);
  private readonly leaves: readonly Float64Array[];

  constructor(private readonly tables: Tables) {
    this.leaves = tables.info.windows.map(({first, rows}) => leafTimes(tables.row.time, first, rows));
  }

  /** The window that stores all events of [from, to]; -1: none. */
  windowOf(from: number, to: number): number {
    const {windows} = this.tables.info;
    for (let i = 0; i < windows.length; i++) {
      if (windows[i].from <= from && to <= windows[i].to) return i;
    }
    return -1;
  }

  /** Finds the rows of the columns [first, last). Column c covers `width` ns, from `start + c * width` on. */
  find(start: number, width: number, first: number, last: number): void {
    const {asked} = this;
    if (asked[0] === start && asked[1] === width && asked[2] === first && asked[3] === last) return;
    asked.set([start, width, first, last]);
    if (this.window.length < last) {
      this.window = new Int32Array(last);
      this.from = new Uint32Array(last);
      this.to = new Uint32Array(last);
    }
    const {windows} = this.tables.info, {time} = this.tables.row;
    let window = -1, leaf = 0, next = 0;
    for (let c = first; c < last; c++) {
      const a = start + c * width, b = start + (c + 1) * width, before = window;
      if (window < 0 || windows[window].from > a || b > windows[window].to) window = this.windowOf(a, b);
      this.window[c] = window;
      if (window < 0) continue;
      const {first: row, rows} = windows[window];
      // No row may fall between two columns.
      const from = window === before ? next : lowerNear(time, a, 0, row, row + rows);
      leaf = lowerNear(this.leaves[window], b, window === before ? leaf : 0);
      next = Math.min(row + leaf * LEAF, row + rows);
      if (next - from < COARSE) next = lowerNear(time, b, from, row, row + rows);
      this.from[c] = from;
      this.to[c] = next;
    }
  }
}

const kept = new WeakMap<Tables, ColumnRows>();

export function columnRowsOf(tables: Tables): ColumnRows {
  let rows = kept.get(tables);
  if (rows === undefined) {
    rows = new ColumnRows(tables);
    kept.set(tables, rows);
  }
  return rows;
}
