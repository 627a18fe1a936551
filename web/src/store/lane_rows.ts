// Purpose: the level of one lane after each stored row, and its bands at any row.

import type {WindowInfo} from '../format/page';
import type {LaneRules} from './lane_rules';
import {type Extreme, LEAF, RowLevels} from './row_levels';
import type {Tables} from './tables';

/** Sums the shown bands: the level less the hidden ones, or the shown ones alone if the remainder is hidden. */
class ShownSum {
  /** 1 if the level counts, less hidden bands; 0 if shown bands alone do. */
  readonly start: 0|1;
  private readonly factor: Float64Array;

  constructor(rules: LaneRules, hidden: number, count: number) {
    const isHidden = (band: number) => ((hidden >> band) & 1) === 1;
    const restHidden = rules.rest >= 0 && isHidden(rules.rest);
    this.start = restHidden ? 0 : 1;
    this.factor = new Float64Array(count);
    for (let b = 0; b < count; b++) {
      if (b !== rules.rest) this.factor[b] = restHidden ? (isHidden(b) ? 0 : 1) : isHidden(b) ? -1 : 0;
    }
  }

  of(total: number, bands: Float64Array): number {
    let sum = this.start * total;
    for (let b = 0; b < bands.length; b++) sum += this.factor[b] * bands[b];
    return sum;
  }

  /** What a block of each class adds. */
  byClass(rules: LaneRules): Float64Array {
    return rules.level.map((level, i) => this.start * level + this.factor[rules.band[i]] * rules.inBand[i]);
  }
}

/** Sets the band that completes the sum of `count` bands to the level. */
export function complete(
    rules: LaneRules, total: number, out: Float64Array, count = out.length, base = 0): void {
  if (rules.rest < 0) return;
  let sum = 0;
  for (let b = 0; b < count; b++) {
    if (b !== rules.rest) sum += out[base + b];
  }
  out[base + rules.rest] = total - sum;
}

/** What a live set holds in each band, without the remainder. */
export function startBands(tables: Tables, rules: LaneRules, set: number, out: Float64Array): void {
  const {start, class: kinds, count} = tables.set;
  for (let i = start[set]; i < start[set + 1]; i++)
    out[rules.band[kinds[i]]] += rules.inBand[kinds[i]] * count[i];
}

interface WindowRows {
  readonly levels: RowLevels;
  /** At the highest shown level of each leaf: the level, and the bytes of each band at [leaf * bands + band]. */
  readonly totals: Float64Array;
  readonly bands: Float64Array;
  readonly carried: number;
}

/** Where the replay of a window stands, and what it has found. */
interface Replayed extends WindowRows {
  /** The next leaf, and what comes before it. */
  leaf: number;
  total: number;
  seen: number;
  readonly now: Float64Array;
}

/** All windows of one lane. With hidden bands, the shown level is the sum of the others. */
export class LaneRows {
  private readonly shown: Float64Array;
  private readonly windows: WindowRows[] = [];
  private readonly sum: ShownSum|null;
  private readonly adds: Float64Array;
  private part: Replayed|null = null;

  constructor(
      private readonly tables: Tables, private readonly rules: LaneRules, private readonly lane: number,
      hidden: number) {
    this.shown = new Float64Array(tables.row.time.length);
    this.sum = hidden === 0 ? null : new ShownSum(rules, hidden, tables.bands.length);
    this.adds = this.sum === null ? rules.level : this.sum.byClass(rules);
  }

  /**
   * Replays about `most` rows; true if all are done. A million rows take 10 to 20 ms, so what a frame needs is done in
   * parts. Nothing may be asked before all are done.
   */
  advance(most: number): boolean {
    const {windows} = this.tables.info;
    let left = Math.ceil(most / LEAF);
    while (this.windows.length < windows.length && left > 0) {
      const leaves = Math.ceil(windows[this.windows.length].rows / LEAF);
      const part = this.part ?? this.start(this.windows.length);
      for (; part.leaf < leaves && left > 0; left--) this.replay(part, windows[this.windows.length]);
      this.part = part.leaf < leaves ? part : null;
      if (this.part === null) this.windows.push(part);
    }
    return this.windows.length === windows.length;
  }

  private start(window: number): Replayed {
    const {tables, rules, sum} = this, {first, rows, set, levels} = tables.info.windows[window];
    const count = tables.bands.length, leaves = Math.ceil(rows / LEAF), now = new Float64Array(count);
    startBands(tables, rules, set, now);
    const total = levels[this.lane], carried = sum === null ? total : sum.of(total, now);
    return {
      levels: new RowLevels(this.shown, first, rows),
      totals: new Float64Array(leaves),
      bands: new Float64Array(leaves * count),
      carried,
      leaf: 0,
      total,
      seen: carried,
      now
    };
  }

  /** Replays a leaf: first its levels, then the bands up to its highest level and on to its end. */
  private replay(part: Replayed, {first, rows}: WindowInfo): void {
    const {tables, rules, shown, adds} = this, {leaf, now} = part, {class: kinds, ref, small} = tables.row;
    const from = first + leaf * LEAF, end = Math.min(from + LEAF, first + rows);
    const smallCounts = rules.small && (this.sum === null || this.sum.start === 1);
    let {seen} = part;
    for (let i = from; i < end; i++) {
      if (smallCounts) seen += small[i];
      seen += ref[i] === 0 ? adds[kinds[i]] : -adds[kinds[i]];
      shown[i] = seen;
    }
    part.seen = seen;
    const best = part.levels.take(leaf);
    part.total += this.move(from, best + 1, 1, now);
    part.totals[leaf] = part.total;
    part.bands.set(now, leaf * now.length);
    part.total += this.move(best + 1, end, 1, now);
    part.leaf++;
  }

  /** Does (`sign` 1) or undoes (-1) the rows [from, to) in the bands at `base`. Returns the change of the level. */
  private move(from: number, to: number, sign: 1|- 1, bands: Float64Array, base = 0): number {
    const {class: kinds, ref, small} = this.tables.row, {level, band, inBand} = this.rules;
    const {small: counts} = this.rules;
    let change = 0;
    for (let i = from; i < to; i++) {
      const kind = kinds[i], by = ref[i] === 0 ? sign : -sign;
      if (counts) change += sign * small[i];
      change += by * level[kind];
      bands[base + band[kind]] += by * inBand[kind];
    }
    return change;
  }

  /** The shown level after a row; before the first row of the window, what it carries in. */
  after(window: number, row: number): number {
    return row < this.tables.info.windows[window].first ? this.windows[window].carried : this.shown[row];
  }

  /** Writes all bands after a row into `out` at `base`; a row before the window's first means its start. */
  bandsAt(window: number, row: number, out: Float64Array, base = 0): void {
    const {tables, rules} = this, {first, rows, set, levels} = tables.info.windows[window], count = tables.bands.length;
    const {totals, bands, levels: {best}} = this.windows[window];
    if (rows === 0) {
      const start = new Float64Array(count);
      startBands(tables, rules, set, start);
      complete(rules, levels[this.lane], start);
      out.set(start, base);
      return;
    }
    const leaf = Math.max(0, Math.floor((row - first) / LEAF)), known = best[leaf], from = leaf * count;
    for (let b = 0; b < count; b++) out[base + b] = bands[from + b];
    let total = totals[leaf];
    if (row > known) total += this.move(known + 1, row + 1, 1, out, base);
    if (row < known) total += this.move(row + 1, known + 1, -1, out, base);
    complete(rules, total, out, count, base);
  }

  query(window: number, from: number, to: number, found: Extreme): void {
    this.windows[window].levels.query(from, to, found);
  }
}
