// Purpose: highest and lowest of any range of rows of one window, exact to the row.

import {Pyramid} from './pyramid';

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
  private readonly pyramid: Pyramid;

  constructor(private readonly values: Float64Array, private readonly first: number, rows: number) {
    const leaves = Math.ceil(rows / LEAF);
    const highest = new Float64Array(leaves), lowest = new Float64Array(leaves);
    for (let leaf = 0; leaf < leaves; leaf++) {
      let high = -Infinity, low = Infinity;
      const end = Math.min(first + rows, first + (leaf + 1) * LEAF);
      for (let i = first + leaf * LEAF; i < end; i++) {
        const value = values[i];
        if (value > high) high = value;
        if (value < low) low = value;
      }
      highest[leaf] = high;
      lowest[leaf] = low;
    }
    this.pyramid = new Pyramid(highest, lowest);
  }

  /** Finds the extremes of the rows [from, to). */
  query(from: number, to: number, found: Extreme): void {
    const {first} = this;
    const a = Math.ceil((from - first) / LEAF), b = Math.floor((to - first) / LEAF);
    found.row = -1;
    found.highest = -Infinity;
    found.lowest = Infinity;
    if (a >= b) {
      this.scan(from, to, found);
      return;
    }
    this.scan(from, first + a * LEAF, found);
    this.pyramid.query(a, b);
    const least = this.pyramid.least, start = first + this.pyramid.best * LEAF;
    this.scan(start, start + LEAF, found);
    if (least < found.lowest) found.lowest = least;
    this.scan(first + b * LEAF, to, found);
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
