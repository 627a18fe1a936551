// Purpose: draw the axes: instants below the plot, bytes beside each lane.

import {bytes} from '../scale/bytes';
import {byteStep, labelBase, tickLabel, timeStep} from '../scale/ticks';
import {instant} from '../scale/time';

import type {TimeScale} from '../scale/time_scale';
import type {Row} from '../view/plot_layout';
import type {Palette} from './palette';
import {widthOf} from './text';

const MOST_TICKS = 200;

interface Span {
  readonly text: string;
  readonly left: number;
  readonly width: number;
}

/** The plate of the picked instant; null if it is not shown. */
function picked(context: CanvasRenderingContext2D, scale: TimeScale, at: number|null): Span|null {
  if (at === null || at < scale.from || at > scale.to) return null;
  const text = instant(at, scale.grain * 4), width = widthOf(context, text) + 14,
        end = scale.left + scale.width;
  return {text, width, left: Math.max(scale.left, Math.min(end - width, scale.x(at) - width / 2))};
}

export function drawPicked(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, at: number, palette: Palette): void {
  const span = picked(context, scale, at);
  if (span === null) return;
  context.fillStyle = palette.focus;
  context.fillRect(span.left, row.top + 1, span.width, 20);
  context.fillStyle = palette.background;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(span.text, span.left + span.width / 2, row.top + 11.5);
}

/**
 * Ticks with room for their labels, those under the plate of the picked instant without one. If a label is an
 * offset, the gutter names the instant it counts from.
 */
export function drawTimeAxis(
    context: CanvasRenderingContext2D, scale: TimeScale, row: Row, at: number|null, palette: Palette): void {
  const step = timeStep(scale.grain * 100), base = labelBase(scale.from, step),
        plate = picked(context, scale, at);
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
    if (plate !== null && left < plate.left + plate.width + 6 && left + 2 * half > plate.left - 6) continue;
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
