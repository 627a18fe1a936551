// Purpose: the window and the rows of each column of pixels. They are the same in all lanes, so they are searched once.

import {lowerNear} from './search_sorted';
import type {Tables} from './tables';

export class ColumnRows {
  /** By column: the window that stores all its events; -1: none. */
  window = new Int32Array(0);
  /** By column: its rows are [from, to). */
  from = new Uint32Array(0);
  to = new Uint32Array(0);
  private readonly asked = new Float64Array(4);

  constructor(private readonly tables: Tables) {}

  /** The window that stores all events of [from, to]; -1: none. */
  windowOf(from: number, to: number): number {
    const {windows} = this.tables.info;
    for (let i = 0; i < windows.length; i++) {
      if (windows[i].from <= from && to <= windows[i].to) return i;
    }
    return -1;
  }

  /** Finds the rows of the columns [first, last). Column c covers [start + c * width, start + (c + 1) * width), in ns. */
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
    let window = -1, next = 0;
    for (let c = first; c < last; c++) {
      const a = start + c * width, b = start + (c + 1) * width;
      if (window < 0 || windows[window].from > a || b > windows[window].to) window = this.windowOf(a, b);
      this.window[c] = window;
      if (window < 0) continue;
      const {first: row, rows} = windows[window];
      this.from[c] = lowerNear(time, a, next, row, row + rows);
      this.to[c] = next = lowerNear(time, b, this.from[c], row, row + rows);
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
