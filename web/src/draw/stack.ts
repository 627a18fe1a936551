// Purpose: draw the stacked bands of a lane as pixels: one column of the data for each column of pixels.

import type {Columns} from '../store/columns';
import type {Palette} from './palette';

/** Where the stack stands in the image, in device pixels. */
export interface Box {
  readonly top: number;
  readonly height: number;
  /** Pixels of a row of the image. */
  readonly stride: number;
}

function fill(
    pixels: Uint32Array, stride: number, x: number, top: number, bottom: number, colour: number): void {
  for (let at = top * stride + x, end = bottom * stride + x; at < end; at += stride) pixels[at] = colour;
}

function fillPattern(
    pixels: Uint32Array, stride: number, x: number, top: number, bottom: number, colour: number, hatch: number,
    pattern: number, phase: number): void {
  const along = x + phase;
  for (let y = top, at = top * stride + x; y < bottom; y++, at += stride) {
    const marked = pattern === 1 ? ((along + y) & 7) < 2 :
        pattern === 2            ? ((along - y) & 7) < 2 :
        pattern === 3            ? ((along & 3) | (y & 3)) === 0 :
                                   (y & 3) === 0;
    pixels[at] = marked ? hatch : colour;
  }
}

/**
 * Draws the columns [first, last). Bytes of `full` reach the top of the box; what is higher is cut at the top.
 * Hatches are moved to the left by `phase`.
 */
export function drawStack(
    pixels: Uint32Array, box: Box, columns: Columns, full: number, hidden: number, palette: Palette, first = 0,
    last = columns.count, phase = 0): void {
  const {top, height, stride} = box, bands = columns.stride - 1, bottom = top + height;
  const scale = height / full;
  for (let x = first; x < last; x++) {
    const base = x * columns.stride;
    let sum = 0, under = bottom;
    for (let b = 0; b <= bands; b++) {
      const bytes = columns.bands[base + b];
      if (bytes <= 0 || (b < bands && ((hidden >> b) & 1) === 1)) continue;
      sum += bytes;
      const over = Math.max(top, Math.round(bottom - sum * scale));
      if (over >= under) continue;
      if (b === bands)
        fillPattern(pixels, stride, x, over, under, palette.pixelBackground, palette.pixelUnknown, 1, phase);
      else if (palette.pattern[b] === 0)
        fill(pixels, stride, x, over, under, palette.pixel[b]);
      else
        fillPattern(pixels, stride, x, over, under, palette.pixel[b], palette.hatch[b], palette.pattern[b], phase);
      if (under < bottom && under - over > 2) pixels[(under - 1) * stride + x] = palette.pixelBackground;
      under = over;
    }
    const floor = Math.round(bottom - columns.lowest[x] * scale);
    if (hidden === 0 && floor - under > 3 && floor < bottom) pixels[floor * stride + x] = palette.pixelFloor;
  }
}
