// Purpose: what one lane shows in each column of pixels: the highest level, the bands at that instant, the
// lowest level.

import {type ColumnRows, columnRowsOf} from './column_rows';
import {LaneBins} from './lane_bins';
import {LaneRows} from './lane_rows';
import {LaneRules} from './lane_rules';
import type {Extreme} from './row_levels';
import {upperBound} from './search_sorted';
import type {Tables} from './tables';

export const SOURCE = {
  rows: 0,
  bins: 1
} as const;

/** Columns of a lane; arrays are reused from frame to frame. */
export class Columns {
  readonly highest: Float64Array;
  readonly lowest: Float64Array;
  /** Band b of column c at [c * stride + b]; the last of a stride is what no band is known for. */
  readonly bands: Float64Array;
  readonly at: Float64Array;
  readonly source: Uint8Array;
  readonly stride: number;

  constructor(readonly count: number, bands: number) {
    this.stride = bands + 1;
    this.highest = new Float64Array(count);
    this.lowest = new Float64Array(count);
    this.bands = new Float64Array(count * this.stride);
    this.at = new Float64Array(count);
    this.source = new Uint8Array(count);
  }

  /** Moves all columns to the left by `by`, to the right if it is below 0. The columns that come in keep old values. */
  shift(by: number): void {
    for (const one of [this.highest, this.lowest, this.at, this.source]) move(one, by);
    move(this.bands, by * this.stride);
  }
}

function move(column: Float64Array|Uint8Array, by: number): void {
  if (by > 0)
    column.copyWithin(0, by);
  else
    column.copyWithin(-by, 0);
}

export interface Level {
  /** Both are the level itself where it is known exactly. */
  readonly lowest: number;
  readonly highest: number;
  readonly exact: boolean;
}

export class LaneColumns {
  readonly rules: LaneRules;
  readonly bins: LaneBins;
  readonly rows: LaneRows;
  private readonly scratch: Float64Array;
  private readonly found: Extreme = {row: -1, highest: 0, lowest: 0};
  private readonly columnRows: ColumnRows;

  /** `whole`: replays all rows at once; else `advance` does so in parts, before anything may be asked. */
  constructor(private readonly tables: Tables, lane: number, readonly hidden: number, whole = true) {
    this.columnRows = columnRowsOf(tables);
    this.rules = new LaneRules(tables, lane);
    this.bins = new LaneBins(tables, lane, hidden);
    this.rows = new LaneRows(tables, this.rules, lane, hidden);
    this.scratch = new Float64Array(tables.bands.length);
    if (whole) this.rows.advance(Infinity);
  }

  /** Replays up to `most` rows; true if all are done. */
  advance(most: number): boolean { return this.rows.advance(most); }

  /** The window that stores all events of [from, to]; -1: none. */
  windowOf(from: number, to: number): number { return this.columnRows.windowOf(from, to); }

  /** Fills the columns [first, last). Column c covers `width` ns, from `from + c * width` on. */
  fill(from: number, width: number, out: Columns, first = 0, last = out.count): void {
    this.columnRows.find(from, width, first, last);
    for (let c = first; c < last; c++) {
      if (this.columnRows.window[c] >= 0)
        this.fromRows(c, from + c * width, out);
      else
        this.fromBins(from + c * width, from + (c + 1) * width, c, out);
    }
  }

  private fromRows(c: number, a: number, out: Columns): void {
    const {found, rows} = this, window = this.columnRows.window[c];
    const from = this.columnRows.from[c], to = this.columnRows.to[c];
    const carried = rows.after(window, from - 1);
    rows.query(window, from, to, found);
    let best = found.row;
    if (best < 0 || carried >= found.highest) best = from - 1;
    out.highest[c] = Math.max(carried, found.highest);
    out.lowest[c] = Math.min(carried, found.lowest);
    out.at[c] = best < from ? a : this.tables.row.time[best];
    out.source[c] = SOURCE.rows;
    const base = c * out.stride;
    rows.bandsAt(window, best, out.bands, base);
    out.bands[base + out.stride - 1] = 0;
  }

  private fromBins(a: number, b: number, c: number, out: Columns): void {
    const {bins} = this;
    bins.query(a, b);
    out.lowest[c] = bins.lowest;
    out.source[c] = SOURCE.bins;
    if (bins.best >= 0) {
      out.highest[c] = bins.level(bins.best);
      out.at[c] = bins.at(bins.best);
      bins.bandsAt(bins.best, this.scratch);
      this.put(c, 0, out);
    } else if (bins.inside >= 0) {
      out.highest[c] = bins.upper;
      out.at[c] = a;
      this.put(c, bins.bandsInside(this.scratch), out);
    } else {
      out.highest[c] = bins.carriedLevel(bins.carried);
      out.at[c] = a;
      this.put(c, bins.bandsAfter(bins.carried, this.scratch), out);
    }
  }

  private put(c: number, unknown: number, out: Columns): void {
    const base = c * out.stride, {scratch} = this;
    for (let b = 0; b < scratch.length; b++) out.bands[base + b] = scratch[b];
    out.bands[base + scratch.length] = unknown;
  }

  /** The level at an instant. */
  levelAt(t: number): Level {
    const window = this.windowOf(t, t);
    if (window >= 0) {
      const {first, rows} = this.tables.info.windows[window];
      const level = this.rows.after(window, upperBound(this.tables.row.time, t, first, first + rows) - 1);
      return {lowest: level, highest: level, exact: true};
    }
    this.bins.query(t, t + 1);
    const {best, inside, lowest, upper} = this.bins;
    if (best >= 0) return {lowest, highest: this.bins.level(best), exact: false};
    if (inside >= 0) return {lowest, highest: upper, exact: false};
    return {lowest, highest: lowest, exact: true};
  }
}
