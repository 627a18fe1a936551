// Purpose: the level of one lane after each stored row, and its bands at any row.

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

/** Sets the band that completes the sum to the level. */
export function complete(rules: LaneRules, total: number, out: Float64Array): void {
  if (rules.rest < 0) return;
  let sum = 0;
  for (let b = 0; b < out.length; b++) {
    if (b !== rules.rest) sum += out[b];
  }
  out[rules.rest] = total - sum;
}

/** What a live set holds in each band, without the remainder. */
export function startBands(tables: Tables, rules: LaneRules, set: number, out: Float64Array): void {
  const {start, class: kinds, count} = tables.set;
  for (let i = start[set]; i < start[set + 1]; i++)
    out[rules.band[kinds[i]]] += rules.inBand[kinds[i]] * count[i];
}

interface WindowRows {
  readonly levels: RowLevels;
  /** The level before each leaf, and the bytes of each band before it at [leaf * bands + band]. */
  readonly before: Float64Array;
  readonly bands: Float64Array;
  readonly carried: number;
}

/** All windows of one lane. With hidden bands, the shown level is the sum of the others. */
export class LaneRows {
  private readonly shown: Float64Array;
  private readonly windows: WindowRows[];

  constructor(
      private readonly tables: Tables, private readonly rules: LaneRules, lane: number, hidden: number) {
    this.shown = new Float64Array(tables.row.time.length);
    const sum = hidden === 0 ? null : new ShownSum(rules, hidden, tables.bands.length);
    this.windows = tables.info.windows.map((_, window) => this.replay(window, lane, sum));
  }

  private replay(window: number, lane: number, sum: ShownSum|null): WindowRows {
    const {tables, rules, shown} = this, {first, rows, set, levels} = tables.info.windows[window];
    const {class: kinds, ref, small} = tables.row, {level, band, inBand} = rules;
    const count = tables.bands.length, leaves = Math.ceil(rows / LEAF);
    const before = new Float64Array(Math.max(1, leaves)), bands = new Float64Array(Math.max(1, leaves) * count);
    const now = new Float64Array(count);
    startBands(tables, rules, set, now);
    let total = levels[lane];
    before[0] = total;
    bands.set(now);
    const carried = sum === null ? total : sum.of(total, now), adds = sum === null ? level : sum.byClass(rules);
    const smallCounts = rules.small && (sum === null || sum.start === 1);
    let seen = carried;
    for (let i = first; i < first + rows; i++) {
      if ((i - first) % LEAF === 0) {
        before[(i - first) / LEAF] = total;
        bands.set(now, (i - first) / LEAF * count);
      }
      const kind = kinds[i], sign = ref[i] === 0 ? 1 : -1;
      if (rules.small) total += small[i];
      if (smallCounts) seen += small[i];
      total += sign * level[kind];
      seen += sign * adds[kind];
      now[band[kind]] += sign * inBand[kind];
      shown[i] = seen;
    }
    return {levels: new RowLevels(shown, first, rows), before, bands, carried};
  }

  /** The shown level after a row; before the first row of the window, what it carries in. */
  after(window: number, row: number): number {
    return row < this.tables.info.windows[window].first ? this.windows[window].carried : this.shown[row];
  }

  /** Writes all bands after a row into `out`; a row before the window's first means its start. */
  bandsAt(window: number, row: number, out: Float64Array): void {
    const {tables, rules} = this, count = tables.bands.length, {first} = tables.info.windows[window];
    const {class: kinds, ref, small} = tables.row, {before, bands} = this.windows[window];
    const leaf = Math.max(0, Math.floor((row - first) / LEAF));
    for (let b = 0; b < count; b++) out[b] = bands[leaf * count + b];
    let total = before[leaf];
    for (let i = first + leaf * LEAF; i <= row; i++) {
      const kind = kinds[i], sign = ref[i] === 0 ? 1 : -1;
      if (rules.small) total += small[i];
      total += sign * rules.level[kind];
      out[rules.band[kind]] += sign * rules.inBand[kind];
    }
    complete(rules, total, out);
  }

  query(window: number, from: number, to: number, found: Extreme): void {
    this.windows[window].levels.query(from, to, found);
  }
}
