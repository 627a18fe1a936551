// Purpose: draw over the stack of a lane: its title, axis, limits, labels and the selected frame's line.

import {bytes} from '../scale/bytes';
import type {TimeScale} from '../scale/time_scale';
import type {LaneModel} from '../timeline/plot_model';
import type {Row} from '../timeline/plot_layout';
import {drawBytesAxis} from './axes';
import type {Place} from './band_labels';
import type {Palette} from './palette';
import {fitted, widthOf} from './text';

function drawLimits(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, model: LaneModel, palette: Palette): void {
  for (const one of model.limits) {
    if (one.bytes > model.full) continue;
    const y = Math.round(row.top + row.height * (1 - one.bytes / model.full)) + 0.5;
    dash(context, scale.left, y, scale.left + scale.width, palette);
  }
}

function dash(context: CanvasRenderingContext2D, from: number, y: number, to: number, palette: Palette): void {
  context.strokeStyle = palette.limit;
  context.lineWidth = 1.5;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.stroke();
  context.setLineDash([]);
}

/** What the lines in the lane are, at the right end of its title. Returns where the texts begin. */
function drawKey(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, model: LaneModel, palette: Palette): number {
  const y = row.top - 9;
  let right = scale.left + scale.width;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const entry = (text: string, colour: string, sample: (from: number, to: number) => void) => {
    context.fillStyle = colour;
    context.fillText(text, right, y);
    right -= widthOf(context, text) + 5;
    sample(right - 18, right);
    right -= 36;
  };
  for (const one of model.limits) {
    const above = one.bytes > model.full;
    entry(
        `${one.name} ${bytes(one.bytes)}${above ? ', above' : ''}`, palette.limit,
        (from, to) => dash(context, from, y, to, palette));
  }
  model.lines.forEach((one, number) => {
    const above = one.columns.highest > model.full;
    entry(`${one.name}${above ? ', above' : ''}`, palette.text, (from, to) => {
      const [on, off] = number === 0 ? [to - from, 0] : DOTS;
      context.fillStyle = palette.text;
      for (let at = from; at < to; at += on + off) context.fillRect(at, y - 1, Math.min(on, to - at), 1.5);
    });
  });
  return right;
}

/** Of the second measured line of a lane: pixels drawn, and left out. */
const DOTS: readonly [number, number] = [4, 4];

/** Strokes the bytes of the selected frame, twice, so that they are seen on every band. */
export function drawSelected(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, full: number, palette: Palette,
    valueAt: (a: number, b: number) => number): void {
  const grain = scale.grain;
  context.lineJoin = 'round';
  for (const [width, colour] of [[3.5, palette.background], [1.5, palette.focus]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    let pen = false;
    for (let x = 0; x < scale.width; x++) {
      const value = valueAt(scale.from + x * grain, scale.from + (x + 1) * grain);
      if (!Number.isNaN(value)) {
        const y = row.top + row.height * (1 - Math.min(1, value / full));
        if (pen)
          context.lineTo(scale.left + x + 0.5, y);
        else
          context.moveTo(scale.left + x + 0.5, y);
      }
      pen = !Number.isNaN(value);
    }
    context.stroke();
  }
}

export function drawLabels(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, places: readonly Place[],
    names: readonly string[], palette: Palette): void {
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (const {band, x, y} of places) {
    const text = names[band], at = scale.left + x;
    if (palette.pattern[band] !== 0) {
      const width = widthOf(context, text);
      context.fillStyle = palette.bands[band];
      context.fillRect(at - width / 2 - 4, row.top + y - 7, width + 8, 14);
    }
    context.fillStyle = palette.labels[band];
    context.fillText(text, at, row.top + y + 0.5);
  }
}

/** The name of the memory above the lane. Returns where it ends. */
export function drawTitle(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, model: LaneModel, palette: Palette): number {
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.fillStyle = palette.text;
  context.fillText(model.title, scale.left, row.top - 9);
  return scale.left + widthOf(context, model.title);
}

/** The axis and the limits, and the note above the lane, from `from` on. */
export function drawFrame(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, model: LaneModel, chosen: boolean,
    note: string, from: number, palette: Palette): void {
  drawBytesAxis(context, scale, row, model.full, palette);
  drawLimits(context, scale, row, model, palette);
  if (chosen) {
    context.fillStyle = palette.focus;
    context.fillRect(2, row.top - 15, 3, row.height + 15);
  }
  const room = drawKey(context, scale, row, model, palette) - from;
  context.textAlign = 'left';
  context.fillStyle = palette.muted;
  context.fillText(fitted(context, note, room), from, row.top - 9);
}
