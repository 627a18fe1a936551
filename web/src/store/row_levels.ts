// Purpose: highest and lowest of any range of rows of one window, exact to the row.

import {Pyramid} from './pyramid';

/** So many leaves are faster read one by one than from the pyramid. */
const FEW = 48;

/** Rows of one leaf. */
export const LEAF = 32;

export interface Extreme {
  /** The first row of the highest value; -1: no row. */
  row: number;
  highest: number;
  lowest: number;
}

/** Values by row, of which this window has the rows [first, first + rows). */
export class RowLevels {
  /** By leaf: the first row of its highest value. */
  readonly best: Uint32Array;
  private readonly highest: Float64Array;
  private readonly lowest: Float64Array;
  private pyramid: Pyramid|null = null;
  private readonly leaf: Extreme = {row: -1, highest: 0, lowest: 0};

  /** `take` must be called for each leaf, in order, when its values are set; no query before that. */
  constructor(
      private readonly values: Float64Array, private readonly first: number, private readonly rows: number) {
    const leaves = Math.ceil(rows / LEAF);
    this.best = new Uint32Array(leaves);
    this.highest = new Float64Array(leaves);
    this.lowest = new Float64Array(leaves);
  }

  /** Reads the values of a leaf. Returns the first row of its highest value. */
  take(leaf: number): number {
    const start = this.first + leaf * LEAF, {leaf: found} = this;
    clear(found);
    this.scan(start, Math.min(start + LEAF, this.first + this.rows), found);
    this.best[leaf] = found.row;
    this.highest[leaf] = found.highest;
    this.lowest[leaf] = found.lowest;
    if (leaf + 1 === this.best.length) this.pyramid = new Pyramid(this.highest, this.lowest);
    return found.row;
  }

  /** Finds the extremes of the rows [from, to). */
  query(from: number, to: number, found: Extreme): void {
    const {first, pyramid} = this;
    const a = Math.ceil((from - first) / LEAF), b = Math.floor((to - first) / LEAF);
    clear(found);
    if (a >= b || pyramid === null) {
      this.scan(from, to, found);
      return;
    }
    this.scan(from, first + a * LEAF, found);
    if (b - a <= FEW) {
      for (let leaf = a; leaf < b; leaf++) this.meet(leaf, this.lowest[leaf], found);
    } else {
      pyramid.query(a, b);
      this.meet(pyramid.best, pyramid.least, found);
    }
    this.scan(first + b * LEAF, to, found);
  }

  private meet(leaf: number, lowest: number, found: Extreme): void {
    const highest = this.highest[leaf];
    if (highest > found.highest) {
      found.highest = highest;
      found.row = this.best[leaf];
    }
    if (lowest < found.lowest) found.lowest = lowest;
  }

  private scan(from: number, to: number, found: Extreme): void {
    const {values} = this;
    for (let i = from; i < to; i++) {
      const value = values[i];
      if (value > found.highest) {
        found.highest = value;
        found.row = i;
      }
      if (value < found.lowest) found.lowest = value;
    }
  }
}

function clear(found: Extreme): void {
  found.row = -1;
  found.highest = -Infinity;
  found.lowest = Infinity;
}
