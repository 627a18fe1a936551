// Purpose: draw the flags of findings, the peaks, failures, the death of the process and the user's own marks.

import type {MarkInfo} from '../format/page';
import type {TimeScale} from '../scale/time_scale';
import type {Row} from '../timeline/plot_layout';
import type {Palette} from './palette';

/** Pixels between two shapes. */
const APART = 16;

export interface DrawnMark {
  readonly x: number;
  readonly mark: MarkInfo;
}

/** Draws the shapes in their row, and a thin line down to `bottom`. Returns where each stands. */
export function drawMarks(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, bottom: number, marks: readonly MarkInfo[],
    palette: Palette, out: DrawnMark[]): void {
  out.length = 0;
  const middle = row.top + row.height / 2;
  let last = -Infinity;
  for (const mark of ordered(marks)) {
    const x = scale.x(mark.t);
    if (x < scale.left - 1 || x > scale.left + scale.width + 1) continue;
    context.strokeStyle = colourOf(mark, palette);
    context.globalAlpha = 0.55;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, middle + 7);
    context.lineTo(Math.round(x) + 0.5, bottom);
    context.stroke();
    context.globalAlpha = 1;
    last = Math.max(x, last + APART);
    out.push({x: last, mark});
  }
  // At the right end those that have no room move to the left.
  let most = scale.left + scale.width + APART / 2;
  for (let i = out.length - 1; i >= 0 && out[i].x > most; i--, most -= APART) out[i] = {x: most, mark: out[i].mark};
  for (const {x, mark} of out) shape(context, mark, x, middle, colourOf(mark, palette), palette);
}

function colourOf(mark: MarkInfo, palette: Palette): string {
  return mark.kind === 'peak' ? palette.muted : mark.kind === 'finding' ? palette.focus : palette.limit;
}

const orders = new WeakMap<readonly MarkInfo[], readonly MarkInfo[]>();

/** By time: a mark that has no room is drawn to the right of the one before. */
function ordered(marks: readonly MarkInfo[]): readonly MarkInfo[] {
  let known = orders.get(marks);
  if (known === undefined) {
    known = [...marks].sort((a, b) => a.t - b.t);
    orders.set(marks, known);
  }
  return known;
}

function shape(
    context: CanvasRenderingContext2D, mark: MarkInfo, x: number, y: number, colour: string,
    palette: Palette): void {
  context.fillStyle = colour;
  context.beginPath();
  if (mark.kind === 'peak') {
    context.moveTo(x - 6, y + 5);
    context.lineTo(x + 6, y + 5);
    context.lineTo(x, y - 6);
  } else if (mark.kind === 'finding') {
    context.rect(x - 8, y - 8, 16, 16);
  } else if (mark.kind === 'death') {
    context.rect(x - 7, y - 7, 14, 14);
  } else {
    context.moveTo(x, y - 8);
    context.lineTo(x + 8, y);
    context.lineTo(x, y + 8);
    context.lineTo(x - 8, y);
  }
  context.fill();
  if (mark.kind === 'peak') return;
  context.fillStyle = palette.background;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const text = mark.kind === 'finding' ? String((mark.finding ?? 0) + 1) :
      mark.kind === 'death'            ? '\u00d7' :
                                         '!';
  context.fillText(text, x, y + 0.5);
}

/** The user's marks 1 to 9: a small tab with the number at the top of the row. */
export function drawOwnMarks(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, bottom: number,
    marks: readonly(number | null)[], palette: Palette): void {
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let i = 0; i < marks.length; i++) {
    const t = marks[i];
    if (t === null || t < scale.from || t > scale.to) continue;
    const x = Math.round(scale.x(t)) + 0.5;
    context.strokeStyle = palette.text;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(x, row.top + row.height);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
    context.strokeRect(x - 7, row.top + 2.5, 14, 15);
    context.fillStyle = palette.background;
    context.fillRect(x - 6.5, row.top + 3, 13, 14);
    context.fillStyle = palette.text;
    context.fillText(String(i + 1), x, row.top + 10.5);
  }
}
