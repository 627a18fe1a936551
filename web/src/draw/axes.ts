// Purpose: draw the axes: instants below the plot, bytes beside each lane.

import {bytes} from '../scale/bytes';
import {byteStep, labelBase, tickLabel, timeStep} from '../scale/ticks';

import type {TimeScale} from '../scale/time_scale';
import type {Row} from '../timeline/plot_layout';
import type {Palette} from './palette';
import {widthOf} from './text';

const MOST_TICKS = 200;

/** Ticks with labels. If a label is an offset, the gutter names the instant it counts from. */
export function drawTimeAxis(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, palette: Palette): void {
  const step = timeStep(scale.grain * 100), base = labelBase(scale.from, step);
  const end = scale.left + scale.width, first = Math.ceil((scale.from - base) / step);
  context.textBaseline = 'top';
  context.fillStyle = palette.muted;
  context.strokeStyle = palette.axis;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(scale.left, row.top + 0.5);
  context.lineTo(end, row.top + 0.5);
  for (let i = first; i < first + MOST_TICKS; i++) {
    const x = scale.x(base + i * step);
    if (x > end + 0.5) break;
    context.moveTo(Math.round(x) + 0.5, row.top);
    context.lineTo(Math.round(x) + 0.5, row.top + 5);
    const text = (base > 0 ? '+' : '') + tickLabel(i * step, step), half = widthOf(context, text) / 2;
    const left = Math.max(scale.left, Math.min(end - 2 * half, x - half));
    context.textAlign = 'left';
    context.fillText(text, left, row.top + 8);
  }
  context.stroke();
  context.textAlign = 'right';
  context.fillText(base > 0 ? tickLabel(base, step * 100) : 'time', scale.left - 8, row.top + 8);
}

/** Lines across a lane at round amounts, with labels in the gutter. */
export function drawBytesAxis(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, full: number, palette: Palette): void {
  const bottom = row.top + row.height, step = byteStep(full / Math.max(1, row.height / 40));
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  context.fillStyle = palette.muted;
  context.strokeStyle = palette.dark ? 'rgba(255,255,255,0.13)' : 'rgba(0,0,0,0.10)';
  context.lineWidth = 1;
  context.beginPath();
  for (let amount = step; amount <= full; amount += step) {
    const y = Math.round(bottom - amount / full * row.height) + 0.5;
    if (y < row.top + 4) break;
    context.moveTo(scale.left, y);
    context.lineTo(scale.left + scale.width, y);
    context.fillText(axisBytes(amount), scale.left - 6, y);
  }
  context.stroke();
  context.strokeStyle = palette.axis;
  context.beginPath();
  context.moveTo(scale.left - 0.5, row.top);
  context.lineTo(scale.left - 0.5, bottom + 0.5);
  context.lineTo(scale.left + scale.width, bottom + 0.5);
  context.stroke();
}

function axisBytes(amount: number): string {
  return bytes(amount).replace(/\.0+ /, ' ').replace(/(\.\d)0 /, '$1 ');
}
