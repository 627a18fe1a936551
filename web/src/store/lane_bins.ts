// Purpose: the level and the bands of one lane over the whole run, from bins.

import {Pyramid} from "./pyramid";
import {lowerBound, upperBound} from "./search_sorted";
import type {LaneBins as Columns, Tables} from "./tables";

export class LaneBins {
  private readonly pyramid: Pyramid;
  private readonly highest: Float64Array;
  private readonly columns: Columns;
  private readonly bins: number;
  private readonly bands: number;

  /** With hidden bands, the highest is the sum of the shown ones at the instant of the bin's highest total. */
  constructor(private readonly tables: Tables, lane: number, private readonly hidden: number) {
    this.columns = tables.lanes[lane];
    this.bins = tables.bin.start.length;
    this.bands = tables.bands.length;
    this.highest = this.columns.max;
    let lowest = this.columns.min;
    if (hidden !== 0) {
      this.highest = new Float64Array(this.bins);
      for (let i = 0; i < this.bins; i++) this.highest[i] = this.shownSum(i);
      lowest = this.highest;
    }
    this.pyramid = new Pyramid(this.highest, lowest);
  }

  private shownSum(bin: number): number {
    const {bands} = this.columns;
    let sum = 0;
    for (let b = 0; b < this.bands; b++) {
      if (((this.hidden >> b) & 1) === 0) sum += bands[b * this.bins + bin];
    }
    return sum;
  }

  /** The last bin that began at or before `t`; -1: none. */
  before(t: number): number {
    return upperBound(this.tables.bin.start, t) - 1;
  }

  /** Results of `query`: the bin of the highest level (-1: the level is that of `carried`), and the lowest level. */
  best = -1;
  lowest = 0;
  /** The bin whose last level is carried in; -1: no event came before. */
  carried = -1;

  /** Looks at the bins that touch [from, to), and at the level carried in if none covers `from`. */
  query(from: number, to: number): void {
    const {bin} = this.tables;
    const a = lowerBound(bin.end, from), b = Math.max(a, lowerBound(bin.start, to));
    this.carried = -1;
    this.best = -1;
    this.lowest = 0;
    if (a < b) {
      this.pyramid.query(a, b);
      this.best = this.pyramid.best;
      this.lowest = this.pyramid.least;
      if (bin.start[a] <= from) return;
    }
    this.carried = a - 1;
    const level = this.carriedLevel(this.carried);
    if (this.best >= 0 && this.highest[this.best] < level) this.best = -1;
    this.lowest = this.best >= 0 || a < b ? Math.min(this.lowest, level) : level;
  }

  /** The level after a bin's last event. With hidden bands, the sum of the shown ones as `bandsAfter` has them. */
  carriedLevel(bin: number): number {
    if (bin < 0) return 0;
    if (this.hidden === 0) return this.columns.last[bin];
    return Math.min(this.columns.last[bin], this.highest[bin]);
  }

  level(bin: number): number {
    return this.highest[bin];
  }

  at(bin: number): number {
    return this.columns.at[bin];
  }

  bandsAt(bin: number, out: Float64Array): void {
    for (let b = 0; b < this.bands; b++) out[b] = this.columns.bands[b * this.bins + bin];
  }

  /**
   * The bands after a bin's last event, as far as they are known: exact if the bin ends at its highest level; else the
   * least of both neighbours' peaks. Returns the bytes that no band is known for.
   */
  bandsAfter(bin: number, out: Float64Array): number {
    const {max, last, bands} = this.columns, {bins} = this;
    if (bin < 0) {
      out.fill(0);
      return 0;
    }
    this.bandsAt(bin, out);
    if (last[bin] === max[bin]) return 0;
    let sum = 0;
    for (let b = 0; b < this.bands; b++) {
      const next = bin + 1 < bins ? bands[b * bins + bin + 1] : out[b];
      out[b] = Math.max(0, Math.min(out[b], next));
      sum += out[b];
    }
    if (sum <= last[bin]) return last[bin] - sum;
    for (let b = 0; b < this.bands; b++) out[b] *= last[bin] / sum;
    return 0;
  }
}
