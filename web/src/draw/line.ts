// Purpose: draw a measured line into the pixels of a lane. As a path on the canvas, a line that moves up and down
// in each column takes 2 ms of a frame.

import type {Box} from './stack';

export interface LineStyle {
  readonly colour: number;
  /** Drawn around the line, so that it is seen on every band. */
  readonly halo: number;
  /** Device pixels. */
  readonly thick: number;
  /** True for dots. */
  readonly dotted: boolean;
}

/** A level in device pixels from the top of the image; -1: not known, or above the box. */
function height(value: number, box: Box, full: number): number {
  return Number.isNaN(value) || value > full ? -1 : box.top + Math.round(box.height * (1 - value / full));
}

/** How many columns to each side of its own a column of the line may paint. */
export function lineReach(thick: number): number { return Math.ceil(thick / 2) + thick; }

/**
 * Paints the line in the columns [first, last). `valueAt`: of any column, NaN if it is not known. `phase`: how far dots
 * are moved to the left.
 */
export function drawLine(
    pixels: Uint32Array, box: Box, full: number, style: LineStyle, valueAt: (column: number) => number,
    first: number, last: number, phase: number): void {
  const {thick, halo, colour, dotted} = style, ring = Math.ceil(thick / 2), reach = lineReach(thick);
  for (const [grown, tint] of [[ring, halo], [0, colour]] as const) {
    let before = height(valueAt(first - reach - 1), box, full);
    for (let x = first - reach; x < last + reach; x++) {
      const y = height(valueAt(x), box, full), joined = before < 0 ? y : before;
      before = y;
      if (y < 0 || (tint === colour && dotted && ((x + phase) & 7) >= 4)) continue;
      const top = Math.max(box.top, Math.min(y, joined) - grown);
      const bottom = Math.min(box.top + box.height, Math.max(y, joined) + thick + grown);
      // A jump is as thick as the rest, towards the column before.
      const left = Math.max(first, x - (y === joined ? 0 : thick - 1) - grown), right = Math.min(last, x + 1 + grown);
      for (let row = top; row < bottom; row++) {
        for (let at = row * box.stride + left, end = row * box.stride + right; at < end; at++) pixels[at] = tint;
      }
    }
  }
}
