// Purpose: the stacks of all lanes as pixels, and the columns that they show. A pan moves both, and only what comes
// into view is computed.

import type {Palette} from '../draw/palette';
import {type Box, drawStack} from '../draw/stack';
import type {ViewState} from '../state/app';
import {Columns} from '../store/columns';
import type {ProcessStore} from '../store/process_store';

/** Where a lane stands in the image, in device pixels, and the bytes at its top. */
export interface LaneBox extends Box {
  readonly full: number;
}

export class StackImage {
  image = new ImageData(1, 1);
  columns: readonly Columns[] = [];
  /** Columns that were computed for the last drawing, of one lane. For tests. */
  computed = 0;
  private pixels = new Uint32Array(1);
  private key = '';
  /** The first instant of the first column and the width of a column, ns. */
  private start = 0;
  private grain = 0;
  private phase = 0;

  /** Draws the lanes in an image of this size. */
  draw(
      store: ProcessStore, boxes: readonly LaneBox[], width: number, height: number, state: ViewState,
      palette: Palette): void {
    const places = boxes.map(({top, height: tall}) => `${top} ${tall}`);
    const key = [state.process, state.hidden, width, height, palette.background, ...places].join();
    const grain = (state.to - state.from) / width, shift = Math.round((state.from - this.start) / grain);
    // The last column of a pan must not be off by more than 1/100 of its width.
    const same = key === this.key && Math.abs(grain - this.grain) * width < 0.01 * grain;
    this.computed = 0;
    if (same && shift === 0) return;
    if (same && Math.abs(shift) < width) {
      this.move(shift);
      this.fill(store, boxes, state, palette, shift > 0 ? width - shift : 0, shift > 0 ? width : -shift);
      return;
    }
    if (this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const bands = store.tables.bands.length;
    if (this.columns.length !== boxes.length || this.columns.some((one) => one.count !== width || one.stride !== bands + 1))
      this.columns = boxes.map(() => new Columns(width, bands));
    this.key = key;
    this.start = state.from;
    this.grain = grain;
    this.fill(store, boxes, state, palette, 0, width);
  }

  /** Moves the columns to the left by `shift`, to the right if it is below 0. */
  private move(shift: number): void {
    for (const one of this.columns) one.shift(shift);
    if (shift > 0)
      this.pixels.copyWithin(0, shift);
    else
      this.pixels.copyWithin(-shift, 0);
    this.start += shift * this.grain;
    this.phase = (this.phase + shift) & 7;
  }

  private fill(
      store: ProcessStore, boxes: readonly LaneBox[], state: ViewState, palette: Palette, first: number,
      last: number): void {
    const {pixels, image: {width}} = this;
    for (let at = 0; at < pixels.length; at += width) pixels.fill(palette.pixelBackground, at + first, at + last);
    boxes.forEach((box, i) => {
      store.columns(i, state.hidden).fill(this.start, this.grain, this.columns[i], first, last);
      drawStack(pixels, box, this.columns[i], box.full, state.hidden, palette, first, last, this.phase);
    });
    this.computed = last - first;
  }
}
