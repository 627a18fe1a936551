// Purpose: the picked instant, the pointer's instant and the selected stretch of time, as elements above the plot.
// Moving an element draws nothing: a canvas of this size takes 3 ms of each frame to hand over.

import {element, say} from '../dom/element';
import {instant} from '../scale/time';
import type {TimeScale} from '../scale/time_scale';
import type {ViewState} from '../state/app';
import type {PlotLayout} from './plot_layout';

export class PlotCursor {
  private readonly picked = element('div', {class: 'cursor picked'});
  private readonly plate = element('div', {class: 'cursor plate'});
  private readonly hover = element('div', {class: 'cursor hover'});
  private readonly range = element('div', {class: 'cursor range'});
  readonly elements: readonly HTMLElement[] = [this.range, this.hover, this.picked, this.plate];

  constructor() {
    for (const one of this.elements) one.setAttribute('aria-hidden', 'true');
  }

  /** `hover`: the instant under the pointer, ns. */
  update(state: ViewState, hover: number|null, scale: TimeScale, layout: PlotLayout): void {
    const {left, width} = scale, end = left + width, {at, range} = state;
    const line = (element: HTMLElement, t: number|null) => {
      element.hidden = t === null || t < scale.from || t > scale.to;
      if (t === null || element.hidden) return;
      place(element, `${Math.round(scale.x(t))}px`, 0, layout.axis.top);
    };
    line(this.picked, at);
    line(this.hover, hover);
    this.plate.hidden = this.picked.hidden;
    if (at !== null && !this.plate.hidden) {
      say(this.plate, instant(at, scale.grain * 4));
      place(
          this.plate, `clamp(${left}px, calc(${Math.round(scale.x(at))}px - 50%), calc(${end}px - 100%))`,
          layout.axis.top + 1, 20);
    }
    const a = range === null ? end : Math.max(left, scale.x(range[0]));
    const b = range === null ? left : Math.min(end, scale.x(range[1]));
    this.range.hidden = a >= b;
    if (a >= b) return;
    place(this.range, `${a}px`, 0, layout.axis.top);
    this.range.style.setProperty('width', `${b - a}px`);
  }
}

function place(element: HTMLElement, x: string, y: number, height: number): void {
  element.style.setProperty('transform', `translate(${x}, ${y}px)`);
  element.style.setProperty('height', `${height}px`);
}
