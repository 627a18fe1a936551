// Purpose: the plot: the pixels of the stacks, and over them strips, axes, lines and labels. Draws only what changed.

import type {App, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import {instant} from '../scale/time';
import {TimeScale} from '../scale/time_scale';
import {placeLabels} from '../draw/band_labels';
import {Canvas, FONT} from '../draw/canvas';
import {drawTimeAxis} from '../draw/axes';
import {drawFrame, drawLabels, drawSelected, drawTitle} from '../draw/lane';
import {drawMarks, drawOwnMarks, type DrawnMark} from '../draw/marks';
import {type Palette, palette} from '../draw/palette';
import {drawRate, drawStored, drawStrip} from '../draw/strips';
import {setFont, widthOf} from '../draw/text';
import {type Columns, SOURCE} from '../store/columns';
import {stepName} from '../store/intervals';
import {type ProcessStore, storeOf} from '../store/process_store';
import {type PlotLayout, plotLayout, type Row} from './plot_layout';
import {type PlotModel, plotModel} from './plot_model';
import {PlotCursor} from './cursor';
import {StackImage} from './stack_image';
import {measuredWidth} from '../dom/measured';

const SMALL = `11px ${FONT}`;
const TEXT = `12px ${FONT}`;
const TITLE = `600 ${TEXT}`;

export class Plot {
  readonly element = document.createElement('div');
  readonly marks: DrawnMark[] = [];
  layout: PlotLayout = plotLayout(600, {steps: false, phases: 0, lanes: 0, tall: 0, height: 100});
  scale = new TimeScale(0, 1, 0, 1);
  /** The instant under the pointer, ns. */
  hover: number|null = null;
  private readonly canvas = new Canvas();
  private readonly stacks = new StackImage();
  private readonly cursor = new PlotCursor();
  private drawn = '';

  constructor(private readonly app: App) {
    this.model = plotModel(this.store, app.state.hidden);
    this.element.className = 'plot';
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'application');
    this.element.setAttribute('aria-roledescription', 'timeline');
    this.element.setAttribute(
        'aria-label', 'Memory over time. W and S zoom, A and D pan, Enter picks, question mark helps.');
    this.canvas.element.setAttribute('aria-hidden', 'true');
    this.element.append(this.canvas.element, ...this.cursor.elements);
  }

  get store(): ProcessStore { return storeOf(this.app.page, this.app.state.process); }

  /** Of the last drawing. */
  model: PlotModel;

  draw(state: ViewState): void {
    const {store} = this, width = measuredWidth(this.element);
    if (width === 0) return;
    const model = this.model = plotModel(store, state.hidden);
    const tall = Math.max(120, Math.min(300, Math.round(innerHeight * 0.24)));
    this.layout = plotLayout(width, {
      steps: model.steps !== null,
      phases: model.phases.length,
      lanes: model.lanes.length,
      tall: state.lane,
      height: tall
    });
    const {layout} = this, colours = palette(store.tables.bands);
    const resized = this.canvas.fit(width, layout.total);
    if (resized) this.element.style.setProperty('height', `${layout.total}px`);
    this.scale = new TimeScale(state.from, state.to, layout.left, layout.width);
    const key = [
      state.process, state.lane, state.from, state.to, state.hidden, colours.background, state.selected,
      state.marks
    ].join('|');
    if (resized || key !== this.drawn) {
      this.canvas.begin(colours.background);
      this.drawStacks(state, colours);
      this.drawOver(state, colours);
      this.drawn = key;
    }
    this.cursor.update(state, this.hover, this.scale, layout);
  }

  private drawStacks(state: ViewState, colours: Palette): void {
    const {layout, store, model} = this, {ratio, context} = this.canvas, {lanes} = layout;
    if (lanes.length === 0) return;
    const device = (y: number) => Math.round(y * ratio), width = Math.floor(layout.width * ratio);
    const top = device(lanes[0].top), last = lanes[lanes.length - 1];
    const boxes = lanes.map((row, i) => {
      const from = device(row.top);
      return {top: from - top, height: device(row.top + row.height) - from, stride: width, lane: model.lanes[i]};
    });
    this.stacks.draw(store, boxes, width, device(last.top + last.height) - top, ratio, state, colours);
    context.putImageData(this.stacks.image, Math.round(layout.left * ratio), top);
  }

  private drawOver(state: ViewState, colours: Palette): void {
    const {layout, scale, store, model} = this, {context} = this.canvas, {tables} = store;
    this.drawLanes(context, state, colours);
    setFont(context, SMALL);
    if (layout.steps !== null && model.steps !== null) {
      drawStrip(context, scale, layout.steps, model.steps, (i) => stepName(tables, i), colours);
    }
    model.phases.forEach((strip, i) => {
      const name = (at: number) => {
        const path = store.info.paths[tables.phase.path[strip.of[at]]];
        return path[path.length - 1] ?? '';
      };
      drawStrip(context, scale, layout.phases[i], strip, name, colours);
    });
    this.drawGutter(context, colours);
    drawRate(context, scale, layout.rate, tables, colours);
    drawStored(context, scale, layout.raw, tables, colours);
    const bottom = layout.axis.top;
    drawMarks(context, scale, layout.marks, bottom, store.info.marks, colours, this.marks);
    drawOwnMarks(context, scale, layout.marks, bottom, state.marks, colours);
    drawTimeAxis(context, scale, layout.axis, colours);
  }

  private drawGutter(context: CanvasRenderingContext2D, colours: Palette): void {
    const {layout} = this;
    context.fillStyle = colours.muted;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const name = (text: string, row: Row) =>
        context.fillText(text, layout.left - 8, row.top + row.height / 2 + 0.5);
    if (layout.steps !== null) name('steps', layout.steps);
    if (layout.phases.length > 0) name('phases', layout.phases[0]);
    name('marks', layout.marks);
    name('births', layout.rate);
    name('raw data', layout.raw);
  }

  private drawLanes(context: CanvasRenderingContext2D, state: ViewState, colours: Palette): void {
    const {layout, scale, store, model} = this, names = store.tables.bands;
    const selected = store.node(state.selected);
    setFont(context, TITLE);
    const ends = layout.lanes.map((row, i) => drawTitle(context, scale, row, model.lanes[i], colours));
    setFont(context, TEXT);
    layout.lanes.forEach((row, i) => {
      const lane = model.lanes[i], {peak} = store.lane(i), columns = this.stacks.columns[i];
      const when = instant(peak.t, store.info.end / 200), most = bytes(store.peak(i, state.hidden));
      drawFrame(
          context, scale, row, lane, i === state.lane,
          `${lane.measure}, peak ${most} at ${when}${this.note(state, i, columns)}`, ends[i] + 8, colours);
      if (row.height > 60) {
        const widths = names.map((name) => widthOf(context, name));
        const places = placeLabels(columns, widths, row.height, lane.full, state.hidden, this.canvas.ratio, 15);
        drawLabels(context, scale, row, places, names, colours);
      }
      if (selected === null) return;
      const rows = store.selection(i, selected), whole = store.columns(i);
      drawSelected(context, scale, row, lane.full, colours, (a, b) => {
        const window = whole.windowOf(a, b);
        return window < 0 ? NaN : rows.highest(window, a, b);
      });
    });
  }

  /** What the shown levels of lane `at` are, where they are not those of single events, and what they leave out. */
  private note(state: ViewState, at: number, columns: Columns): string {
    let bins = 0;
    for (let c = 0; c < columns.count; c += 8) bins += columns.source[c] === SOURCE.bins ? 8 : 0;
    const {bin} = this.store.tables, said: string[] = [];
    const coarse = bins > columns.count / 2 &&
        bin.start.length * (state.to - state.from) / Math.max(1, this.store.info.end) < columns.count / 4;
    if (coarse) {
      const events = Math.ceil(this.store.info.events / Math.max(1, bin.start.length));
      said.push(`no single events here, only the highest level of each ${events}; hatched: somewhere up to it`);
    }
    const {hiddenAtFirst} = this.store, chosen = state.hidden & ~hiddenAtFirst;
    if (this.store.bandsOf(at) & state.hidden & hiddenAtFirst) said.push('without what was reserved and never touched');
    if (chosen !== 0) {
      let count = 0;
      for (let b = 0; b < 31; b++) count += (chosen >> b) & 1;
      said.push(`${count} ${count === 1 ? 'band' : 'bands'} hidden`);
      if (bins > 0) said.push('outside raw data: at the instant of the highest total');
    }
    return said.length === 0 ? '' : ` \u2014 ${said.join('; ')}`;
  }
}
