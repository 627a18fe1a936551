// Purpose: find where the name of each band fits inside the band.

import type {Columns} from '../store/columns';

const NEAR = 6; // px between two looks at the height of a band

export interface Place {
  readonly band: number;
  readonly x: number;
  readonly y: number;
}

/**
 * Returns a place for each band that is at least `least` px high over the width of its name; the highest place
 * wins. `ratio` is the number of columns in a pixel; x counts from the first column, y from the top of the box.
 */
export function placeLabels(
    columns: Columns, widths: readonly number[], height: number, full: number, hidden: number, ratio: number,
    least: number): Place[] {
  const bands = columns.stride - 1, looks = Math.floor(columns.count / ratio / NEAR), out: Place[] = [];
  const low = new Float64Array(looks), high = new Float64Array(looks);
  const sums = new Float64Array(looks);
  for (let b = 0; b < bands; b++) {
    if (((hidden >> b) & 1) === 1) continue;
    let tallest = 0;
    for (let i = 0; i < looks; i++) {
      const c = Math.min(columns.count - 1, Math.floor((i + 0.5) * NEAR * ratio));
      low[i] = sums[i];
      sums[i] += Math.max(0, columns.bands[c * columns.stride + b]);
      high[i] = sums[i];
      tallest = Math.max(tallest, high[i] - low[i]);
    }
    if (tallest / full * height <= least) continue;
    const span = Math.ceil((widths[b] + 12) / NEAR);
    let best = least, where = -1, middle = 0;
    for (let i = 0; i + span <= looks; i++) {
      let floor = 0, roof = Infinity;
      for (let j = i; j < i + span && floor < roof; j++) {
        floor = Math.max(floor, low[j]);
        roof = Math.min(roof, high[j]);
      }
      const room = (roof - floor) / full * height;
      if (room > best * 1.05) {
        best = room;
        where = i;
        middle = height - (floor + roof) / 2 / full * height;
      }
    }
    if (where >= 0) out.push({band: b, x: (where + span / 2) * NEAR, y: middle});
  }
  return out;
}
