// Purpose: the whole run in one strip, with a brush for the shown stretch of time.

import {Canvas} from '../draw/canvas';
import {type Palette, palette} from '../draw/palette';
import {drawStack} from '../draw/stack';
import * as move from './navigation';
import type {App, View, ViewState} from '../state/app';
import {Columns} from '../store/columns';
import {type ProcessStore, storeOf} from '../store/process_store';
import {TimeScale} from '../scale/time_scale';
import {plotModel} from './plot_model';
import {measuredWidth} from '../dom/measured';

const HEIGHT = 44, LEFT = 88, RIGHT = 20, NEAR = 6;

class Overview {
  readonly element = document.createElement('div');
  private readonly canvas = new Canvas();
  private image: ImageData|null = null;
  private stacked = '';
  private drawn = '';
  private scale = new TimeScale(0, 1, LEFT, 1);
  private drag: {kind: 'move'|'left'|'right'|'new'; t: number; from: number; to: number}|null = null;

  constructor(private readonly app: App) {
    const {element} = this;
    element.className = 'overview';
    element.setAttribute('role', 'img');
    element.setAttribute('aria-label', 'The whole run, with the shown stretch of time');
    element.append(this.canvas.element);
    element.addEventListener('pointerdown', (event) => this.down(event));
    element.addEventListener('pointermove', (event) => this.move(event));
    element.addEventListener('pointerup', () => (this.drag = null));
    element.addEventListener('pointercancel', () => (this.drag = null));
    element.addEventListener('dblclick', () => app.go({from: 0, to: this.end}));
    element.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
  }

  private get end(): number {
    return Math.max(move.SHORTEST, storeOf(this.app.page, this.app.state.process).info.end);
  }

  private at(event: MouseEvent): [number, number] {
    const x = event.clientX - this.element.getBoundingClientRect().left;
    return [x, Math.max(0, Math.min(this.end, this.scale.t(x)))];
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const {state} = this.app, factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.0018)));
    this.app.go(move.zoom(state, (state.from + state.to) / 2, factor, this.end), 'drag');
  }

  private down(event: PointerEvent): void {
    const [x, t] = this.at(event), {from, to} = this.app.state;
    this.element.setPointerCapture(event.pointerId);
    const left = this.scale.x(from), right = this.scale.x(to), whole = to - from >= this.end * 0.999;
    const kind = Math.abs(x - left) <= NEAR && !whole ? 'left' :
        Math.abs(x - right) <= NEAR && !whole         ? 'right' :
        x > left && x < right && !whole               ? 'move' :
                                                        'new';
    this.drag = {kind, t, from, to};
  }

  private move(event: PointerEvent): void {
    const {drag} = this;
    if (drag === null) return;
    const [, t] = this.at(event);
    if (drag.kind === 'move') {
      this.app.go(move.pan({...this.app.state, from: drag.from, to: drag.to}, t - drag.t, this.end), 'drag');
      return;
    }
    const fixed = drag.kind === 'left' ? drag.to : drag.kind === 'right' ? drag.from : drag.t;
    const from = Math.min(fixed, t), to = Math.max(fixed, t);
    if (to - from > this.scale.grain) this.app.go({from, to}, 'drag');
  }

  update(state: ViewState): void {
    const store = storeOf(this.app.page, state.process), width = measuredWidth(this.element);
    if (width === 0 || store.info.lanes.length === 0) return;
    const colours = palette(store.tables.bands), resized = this.canvas.fit(width, HEIGHT);
    this.scale = new TimeScale(0, this.end, LEFT, Math.max(50, width - LEFT - RIGHT));
    const stacked = [state.process, state.lane, state.hidden, colours.background].join();
    if (resized || stacked !== this.stacked) this.stack(store, state, colours);
    this.stacked = stacked;
    const drawn = [stacked, state.from, state.to, state.at].join();
    if (!resized && drawn === this.drawn) return;
    this.drawn = drawn;
    const context = this.canvas.begin(colours.background);
    if (this.image !== null) context.putImageData(this.image, Math.round(LEFT * this.canvas.ratio), 0);
    this.brush(context, state, colours);
  }

  private stack(store: ProcessStore, state: ViewState, colours: Palette): void {
    const {ratio} = this.canvas, count = Math.floor(this.scale.width * ratio), height = Math.round(HEIGHT * ratio);
    const columns = new Columns(count, store.tables.bands.length), image = new ImageData(count, height);
    store.columns(state.lane, state.hidden).fill(0, this.end / count, columns);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(colours.pixelBackground);
    const {full} = plotModel(store, state.hidden).lanes[state.lane];
    drawStack(pixels, {top: 0, height, stride: count}, columns, full, state.hidden, colours);
    this.image = image;
  }

  private brush(context: CanvasRenderingContext2D, state: ViewState, {background, focus}: Palette): void {
    const {scale} = this;
    const a = scale.x(state.from), b = Math.max(a + 2, scale.x(state.to));
    context.fillStyle = background;
    context.globalAlpha = 0.72;
    context.fillRect(scale.left, 0, a - scale.left, HEIGHT);
    context.fillRect(b, 0, scale.left + scale.width - b, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = focus;
    context.lineWidth = 1;
    context.strokeRect(a + 0.5, 0.5, Math.max(1, b - a - 1), HEIGHT - 1);
    context.fillStyle = focus;
    context.fillRect(a - 1, HEIGHT / 2 - 9, 4, 18);
    context.fillRect(b - 3, HEIGHT / 2 - 9, 4, 18);
    if (state.at !== null) context.fillRect(Math.round(scale.x(state.at)), 0, 2, HEIGHT);
  }
}

export function overview(app: App): View { return new Overview(app); }
