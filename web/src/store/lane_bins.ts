// Purpose: the level and the bands of one lane over the whole run, from bins.

import {Pyramid} from './pyramid';
import {lowerNear} from './search_sorted';
import type {LaneBins as Columns, Tables} from './tables';

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

  /** Of the last query: the first bin that has its highest level after it, and the first that ends in or after it. */
  private after = 0;
  private touched = 0;

  /** Results of `query`: the bin whose highest level is that of the column; -1: `inside` or `carried` tells. */
  best = -1;
  lowest = 0;
  /**
   * The bin in the column with its highest level elsewhere: the level lies from `lowest` to `upper`; -1: none.
   */
  inside = -1;
  upper = 0;
  /** The bin whose last level is carried in; -1: no event came before. */
  carried = -1;

  /**
   * Looks at the bins that have their highest level in [from, to), else at the bin that covers it, else before
   * it.
   */
  query(from: number, to: number): void {
    const {bin} = this.tables, {at} = this.columns;
    this.best = -1;
    this.inside = -1;
    const a = lowerNear(at, from, this.after), b = lowerNear(at, to, a);
    const touched = lowerNear(bin.end, from, this.touched);
    this.after = b;
    this.touched = touched;
    const covered = touched < this.bins && bin.start[touched] <= from;
    this.carried = covered ? -1 : touched - 1;
    if (a < b) {
      this.pyramid.query(a, b);
      this.best = this.pyramid.best;
      this.lowest = this.pyramid.least;
      if (covered) return;
      const level = this.carriedLevel(this.carried);
      if (this.highest[this.best] < level) this.best = -1;
      this.lowest = Math.min(this.lowest, level);
      return;
    }
    this.between(touched, covered, to);
  }

  /** A column in which no bin has its peak: at most two bins reach into it, one from each side. */
  private between(touched: number, covered: boolean, to: number): void {
    const {bin} = this.tables, {highest} = this, lowest = this.hidden === 0 ? this.columns.min : highest;
    this.lowest = covered ? lowest[touched] : this.carriedLevel(this.carried);
    this.upper = covered ? highest[touched] : this.lowest;
    if (covered) this.inside = touched;
    const next = covered ? touched + 1 : touched;
    if (next >= this.bins || bin.start[next] >= to) return;
    this.inside = covered ? touched : next;
    this.lowest = Math.min(this.lowest, lowest[next]);
    this.upper = Math.max(this.upper, highest[next]);
  }

  /**
   * The level after a bin's last event. With hidden bands, the sum of the shown ones as `bandsAfter` has them.
   */
  carriedLevel(bin: number): number {
    if (bin < 0) return 0;
    if (this.hidden === 0) return this.columns.last[bin];
    return Math.min(this.columns.last[bin], this.highest[bin]);
  }

  level(bin: number): number { return this.highest[bin]; }

  at(bin: number): number { return this.columns.at[bin]; }

  bandsAt(bin: number, out: Float64Array): void {
    for (let b = 0; b < this.bands; b++) out[b] = this.columns.bands[b * this.bins + bin];
  }

  /**
   * The bands after a bin's last event, as far as they are known. Returns the bytes that no band is known for.
   */
  bandsAfter(bin: number, out: Float64Array): number {
    const {max, last} = this.columns;
    if (bin < 0) {
      out.fill(0);
      return 0;
    }
    if (last[bin] < max[bin]) return this.estimate(bin, last[bin], out);
    this.bandsAt(bin, out);
    return 0;
  }

  /**
   * The bands somewhere in `inside`: surely up to the lowest level; the returned rest, up to the highest, may
   * be.
   */
  bandsInside(out: Float64Array): number {
    const {inside, lowest} = this;
    if (this.hidden === 0) return this.estimate(inside, lowest, out) + this.upper - lowest;
    this.bandsAt(inside, out);
    return 0;
  }

  /**
   * The least of what this peak and the next have of each band, at most `level`. Returns what is left of the
   * level.
   */
  private estimate(bin: number, level: number, out: Float64Array): number {
    const {bins} = this, {bands} = this.columns;
    this.bandsAt(bin, out);
    let sum = 0;
    for (let b = 0; b < this.bands; b++) {
      const next = bin + 1 < bins ? bands[b * bins + bin + 1] : out[b];
      out[b] = Math.max(0, Math.min(out[b], next));
      sum += out[b];
    }
    if (sum <= level) return level - sum;
    for (let b = 0; b < this.bands; b++) out[b] *= level / sum;
    return 0;
  }
}
