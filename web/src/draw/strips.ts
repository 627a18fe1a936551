// Purpose: draw the strips of steps, phases, births and stored rows.

import type {TimeScale} from '../scale/time_scale';
import {lowerBound, upperBound} from '../store/search_sorted';
import type {Strip} from '../store/intervals';
import type {Tables} from '../store/tables';
import type {Row} from '../timeline/plot_layout';
import type {Palette} from './palette';
import {fitted, tame} from './text';

/** Draws intervals as boxes with their names; those below two pixels merge into a grey bar. */
export function drawStrip(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, strip: Strip, name: (i: number) => string,
    palette: Palette): void {
  const end = scale.left + scale.width, bottom = row.top + row.height;
  const last = lowerBound(strip.start, scale.to);
  let i = Math.max(0, upperBound(strip.start, scale.from) - 1);
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  while (i < last) {
    const a = Math.max(scale.left, scale.x(strip.start[i])), b = Math.min(end, scale.x(strip.end[i]));
    if (b < scale.left) {
      i++;
      continue;
    }
    if (b - a < 2) {
      const from = a, first = i;
      let to = Math.max(b, a + 1);
      while (i < last && scale.x(strip.start[i]) <= to + 1 &&
             scale.x(strip.end[i]) - scale.x(strip.start[i]) < 2) {
        to = Math.min(end, Math.max(to, scale.x(strip.end[i])));
        // Of the intervals that begin in the same pixel, only the last can reach far beyond it.
        i = Math.max(i, lowerBound(strip.start, scale.t(to + 1), i, last) - 1);
        if (scale.x(strip.end[i]) - scale.x(strip.start[i]) < 2) i++;
      }
      // One that only looks narrow, since the edge of the plot cuts it, is passed here.
      if (i === first) i++;
      context.fillStyle = palette.border;
      context.fillRect(Math.round(from), row.top + 1, Math.max(1, Math.round(to - from)), row.height - 2);
      continue;
    }
    // Whole pixels: a box with soft edges takes three times as long.
    const left = Math.round(a), width = Math.max(2, Math.round(b) - left);
    context.fillStyle = palette.border;
    context.fillRect(left, row.top, width, row.height);
    i++;
    if (width < 5) continue;
    context.fillStyle = palette.surface;
    context.fillRect(left + 1, row.top + 1, width - 2, row.height - 2);
    const text = label(context, tame(name(i - 1)), b - a);
    if (text !== '') {
      context.fillStyle = palette.text;
      context.fillText(text, (a + b) / 2, (row.top + bottom) / 2 + 0.5);
    }
  }
}

/** The name, its beginning, or its first letter as a capital. */
function label(context: CanvasRenderingContext2D, name: string, room: number): string {
  const text = fitted(context, name, room - 8);
  if (text !== '') return text;
  return room >= 12 && !/^\d\d/.test(name) ? name.slice(0, 1).toUpperCase() : '';
}

/** How many blocks are born in each pixel, dark for many; a bin counts in all pixels it covers. */
export function drawRate(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, tables: Tables, palette: Palette): void {
  const {bin} = tables, most = busiest(tables);
  context.fillStyle = palette.text;
  let before = -1, from = 0;
  const grain = scale.grain * 2;
  for (let x = 0; x <= scale.width; x += 2) {
    const a = scale.from + x / 2 * grain, rate = x < scale.width ? births(bin, a, a + grain) / grain : 0;
    const shade = rate <= 0 ? 0 : 1 + Math.min(7, Math.floor(8 * Math.max(0, 1 + Math.log10(rate / most) / 4)));
    if (shade === before && x < scale.width) continue;
    if (before > 0) {
      context.globalAlpha = before / 8;
      context.fillRect(scale.left + from, row.top, x - from, row.height);
    }
    before = shade;
    from = x;
  }
  context.globalAlpha = 1;
}

type Bins = Tables['bin'];

/** Births in [a, b), a bin's births spread evenly over it. */
function births(bin: Bins, a: number, b: number): number {
  let sum = 0;
  const first = lowerBound(bin.end, a), last = lowerBound(bin.start, b);
  // Many bins in a pixel: a few of them tell the rate.
  const step = Math.max(1, Math.floor((last - first) / 16));
  for (let i = first; i < last; i += step) {
    const length = Math.max(1, bin.end[i] - bin.start[i]);
    const share = Math.min(1, (Math.min(b, bin.end[i] + 1) - Math.max(a, bin.start[i])) / length);
    sum += bin.births[i] * Math.max(0, share) * step;
  }
  return sum;
}

const kept = new WeakMap<Bins, number>();

function busiest(tables: Tables): number {
  let most = kept.get(tables.bin);
  if (most === undefined) {
    most = 1e-12;
    const {start, end, births: born} = tables.bin;
    for (let i = 0; i < start.length; i++) most = Math.max(most, born[i] / Math.max(1000, end[i] - start[i]));
    kept.set(tables.bin, most);
  }
  return most;
}

/** Bars where single events are stored. */
export function drawStored(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, tables: Tables, palette: Palette): void {
  const end = scale.left + scale.width;
  context.fillStyle = palette.border;
  context.fillRect(scale.left, row.top + row.height / 2 - 0.5, scale.width, 1);
  context.fillStyle = palette.focus;
  for (const one of tables.info.windows) {
    const a = Math.max(scale.left, scale.x(one.from)), b = Math.min(end, scale.x(one.to));
    if (b >= scale.left && a <= end) context.fillRect(a, row.top, Math.max(2, b - a), row.height);
  }
}
