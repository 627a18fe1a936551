// Purpose: a measured line in columns of pixels: the highest sample of each column.

import {Pyramid} from './pyramid';
import {lowerNear} from './search_sorted';
import type {MeasuredLine} from './tables';

export class LineColumns {
  private readonly pyramid: Pyramid;
  readonly highest: number;
  /** The first sample after the stretch that was asked for last. */
  private next = 0;

  constructor(private readonly line: MeasuredLine) {
    this.pyramid = new Pyramid(line.bytes, line.bytes);
    this.pyramid.query(0, line.bytes.length);
    this.highest = this.pyramid.best < 0 ? 0 : line.bytes[this.pyramid.best];
  }

  /** The highest sample of [a, b), or the last one before; NaN before the first sample. */
  at(a: number, b: number): number {
    const {time, bytes} = this.line;
    const from = lowerNear(time, a, this.next), to = lowerNear(time, b, from);
    this.next = to;
    if (from < to) {
      this.pyramid.query(from, to);
      return bytes[this.pyramid.best];
    }
    return from > 0 ? bytes[from - 1] : NaN;
  }
}
