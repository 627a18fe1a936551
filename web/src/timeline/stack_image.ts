// Purpose: the stacks and measured lines of all lanes as pixels, and the columns that they show. A pan moves both, and
// only what comes into view is computed.

import type {Palette} from '../draw/palette';
import {drawLine, lineReach} from '../draw/line';
import {type Box, drawStack} from '../draw/stack';
import type {ViewState} from '../state/app';
import {Columns} from '../store/columns';
import type {LineColumns} from '../store/line_columns';
import type {ProcessStore} from '../store/process_store';
import type {LaneModel} from './plot_model';

/** A lane, and where it stands in the image, in device pixels. */
export interface LaneBox extends Box {
  readonly lane: LaneModel;
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
  /** Of the measured lines, device pixels. */
  private thick = 1;

  /** Draws the lanes in an image of this size; `ratio`: device pixels for each pixel of the page. */
  draw(
      store: ProcessStore, boxes: readonly LaneBox[], width: number, height: number, ratio: number,
      state: ViewState, palette: Palette): void {
    this.thick = Math.max(1, Math.round(1.5 * ratio));
    const places = boxes.map(({top, height: tall}) => `${top} ${tall}`);
    const key = [state.process, state.hidden, width, height, palette.background, ratio, ...places].join();
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
    const fits = (one: Columns) => one.count === width && one.stride === bands + 1;
    if (this.columns.length !== boxes.length || !this.columns.every(fits))
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

  /** Computes the columns [first, last), and draws them and those beside them that a line may reach. */
  private fill(
      store: ProcessStore, boxes: readonly LaneBox[], state: ViewState, palette: Palette, first: number,
      last: number): void {
    const {pixels, image: {width}} = this, reach = lineReach(this.thick);
    const from = Math.max(0, first - reach), to = Math.min(width, last + reach);
    for (let at = 0; at < pixels.length; at += width) pixels.fill(palette.pixelBackground, at + from, at + to);
    boxes.forEach((box, i) => {
      store.columns(i, state.hidden).fill(this.start, this.grain, this.columns[i], first, last);
      drawStack(pixels, box, this.columns[i], box.lane.full, state.hidden, palette, from, to, this.phase);
      box.lane.lines.forEach((one, number) => this.line(box, one.columns, number, palette, from, to));
    });
    this.computed = last - first;
  }

  /** The first line of a lane is drawn whole, others as dots. */
  private line(
      box: LaneBox, line: LineColumns, number: number, palette: Palette, first: number, last: number): void {
    const {start, grain, thick} = this;
    const style = {colour: palette.pixelText, halo: palette.pixelBackground, thick, dotted: number > 0};
    const valueAt = (c: number) => line.at(start + c * grain, start + (c + 1) * grain);
    drawLine(this.pixels, box, box.lane.full, style, valueAt, first, last, this.phase);
  }
}
