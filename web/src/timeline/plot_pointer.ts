// Purpose: the pointer over the plot: wheel zooms, a drag pans or selects, a click picks.

import type {App} from '../state/app';
import {laneAt} from './plot_layout';
import type {Plot} from './plot';
import * as move from './navigation';

type Drag = {
  kind: 'none'
}|{
  kind: 'press'|'pan';
  x: number;
  from: number;
  to: number
}
|{
  kind: 'range';
  start: number
}
|{kind: 'instant'};

const NEAR = 5; // px

export class PlotPointer {
  private drag: Drag = {kind: 'none'};

  constructor(private readonly app: App, private readonly plot: Plot, private readonly hovered: () => void) {
    const {element} = plot;
    element.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    element.addEventListener('pointerdown', (event) => this.down(event));
    element.addEventListener('pointermove', (event) => this.move(event));
    element.addEventListener('pointerup', (event) => this.up(event));
    element.addEventListener('pointercancel', () => (this.drag = {kind: 'none'}));
    element.addEventListener('pointerleave', () => this.leave());
    element.addEventListener('dblclick', (event) => this.twice(event));
  }

  private place(event: MouseEvent): {x: number; y: number; t: number} {
    const box = this.plot.element.getBoundingClientRect();
    const x = event.clientX - box.left, {scale} = this.plot;
    const inside = Math.max(scale.left, Math.min(scale.left + scale.width, x));
    return {x, y: event.clientY - box.top, t: scale.t(inside)};
  }

  private get end(): number { return this.plot.store.info.end; }

  private wheel(event: WheelEvent): void {
    const {state} = this.app, unit = event.deltaMode === 1 ? 16 : 1, {x, t} = this.place(event);
    const whole = state.to - state.from >= this.end;
    // The page scrolls beside the plot, and where zooming out has no effect.
    if (x < this.plot.scale.left || (whole && event.deltaY > 0 && !event.shiftKey)) return;
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY + event.deltaX : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.app.go(move.pan(state, sideways * unit * this.plot.scale.grain, this.end), 'drag');
    } else {
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.0018)));
      this.app.go(move.zoom(state, t, factor, this.end), 'drag');
    }
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const {x, y, t} = this.place(event), {state} = this.app, {layout, scale} = this.plot;
    this.plot.element.setPointerCapture(event.pointerId);
    if (event.shiftKey || y >= layout.axis.top)
      this.drag = {kind: 'range', start: t};
    else if (state.at !== null && Math.abs(scale.x(state.at) - x) <= NEAR)
      this.drag = {kind: 'instant'};
    else
      this.drag = {kind: 'press', x, from: state.from, to: state.to};
  }

  private move(event: PointerEvent): void {
    const {x, t} = this.place(event), {drag} = this, {scale} = this.plot;
    this.plot.hover = x >= scale.left && x <= scale.left + scale.width ? t : null;
    if (drag.kind === 'press' && Math.abs(x - drag.x) > 3) this.drag = {...drag, kind: 'pan'};
    if (this.drag.kind === 'pan') {
      const {from, to} = this.drag, by = (this.drag.x - x) / scale.width * (to - from);
      this.app.go(move.pan({...this.app.state, from, to}, by, this.end), 'drag');
    } else if (drag.kind === 'range') {
      this.app.go(
          {range: drag.start === t ? null : [Math.min(drag.start, t), Math.max(drag.start, t)]}, 'drag');
    } else if (drag.kind === 'instant') {
      this.app.go({at: t}, 'drag');
    }
    const near = this.app.state.at !== null && Math.abs(scale.x(this.app.state.at) - x) <= NEAR;
    this.plot.element.dataset.cursor = this.drag.kind === 'pan' ? 'grabbing' : near ? 'resize' : '';
    this.hovered();
  }

  private up(event: PointerEvent): void {
    const {kind} = this.drag;
    this.drag = {kind: 'none'};
    this.plot.element.dataset.cursor = '';
    if (kind === 'press') this.click(event);
  }

  private click(event: PointerEvent): void {
    const {x, y, t} = this.place(event), {layout, store, marks} = this.plot, {state} = this.app;
    const {start, end} = store.tables.step;
    if (layout.steps !== null && y < layout.steps.top + layout.steps.height) {
      for (let i = 0; i < start.length; i++) {
        if (start[i] <= t && t <= end[i]) this.app.go(move.show(start[i], end[i], this.end));
      }
      return;
    }
    if (y >= layout.marks.top && y < layout.marks.top + layout.marks.height) {
      const hit = marks.find((one) => Math.abs(one.x - x) <= 9);
      if (hit !== undefined) {
        this.app.go({
          ...move.reach(state, hit.mark.t, this.end),
          ...(hit.mark.lane === null ? {} : {lane: hit.mark.lane})
        });
        return;
      }
    }
    const lane = laneAt(layout, y);
    this.app.go({at: t, lane: lane < 0 ? state.lane : lane});
  }

  private leave(): void {
    this.plot.hover = null;
    this.hovered();
  }

  private twice(event: MouseEvent): void {
    const {t, y} = this.place(event), {range} = this.app.state;
    if (this.plot.layout.steps !== null && y < this.plot.layout.steps.top + 20) return;
    if (range !== null && t >= range[0] && t <= range[1])
      this.app.go(move.show(range[0], range[1], this.end));
    else
      this.app.go({from: 0, to: this.end});
  }
}
