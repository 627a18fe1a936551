// Purpose: the tab of the timeline: the overview, the plot with its legend, and the composition at the picked
// instant.

import * as move from './navigation';
import {PlotKeys} from './plot_keys';
import {PlotPointer} from './plot_pointer';

import type {App, Tab, View, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import {duration, instant} from '../scale/time';
import {type ProcessStore, storeOf} from '../store/process_store';
import {CompositionPane} from '../composition/pane';
import {button, element, say} from '../dom/element';
import {legend} from './legend';
import {overview} from './overview';
import {Plot} from './plot';
import {laneName, plotModel} from './plot_model';
import {Tooltip} from './tooltip';

class Timeline {
  readonly element = element('div', {class: 'tab-timeline'});
  private readonly title = element('h2');
  private readonly span = element('p', {class: 'under muted'});
  private readonly processes = element('select');
  private readonly legend;
  private readonly overview;
  private readonly plot: Plot;
  private readonly tooltip: Tooltip;
  private readonly pane: CompositionPane;
  private readonly keys: PlotKeys;
  /** The hidden bands of the plot: those of the state, or for a moment those before. */
  private hidden = -1;

  constructor(private readonly app: App) {
    this.legend = legend(app);
    this.overview = overview(app);
    this.plot = new Plot(app);
    this.tooltip = new Tooltip(this.plot);
    this.pane = new CompositionPane(app);
    this.keys = new PlotKeys({
      app,
      store: () => this.plot.store,
      hover: () => this.plot.hover,
      grain: () => this.plot.scale.grain,
      search: () => this.pane.focusSearch(),
      legend: () => this.legend.focus(),
      nextMatch: (by) => this.pane.nextMatch(by),
      say: () => this.speak()
    });
    new PlotPointer(app, this.plot, () => app.redraw());
    this.assemble();
    if ('requestIdleCallback' in window) requestIdleCallback(() => this.rehearse());
  }

  private assemble(): void {
    const {app} = this, bar = element('div', {class: 'bar'}), zooms = element('div', {class: 'choice'});
    const by = (factor: number) => () => {
      const {state} = app;
      app.go(move.zoom(state, (state.from + state.to) / 2, factor, this.plot.store.info.end));
    };
    const all = button('Whole run', () => app.go({from: 0, to: this.plot.store.info.end}), {title: '0'});
    const less = button('\u2212', by(2), {title: 's'}), more = button('+', by(0.5), {title: 'w'});
    less.setAttribute('aria-label', 'Zoom out');
    more.setAttribute('aria-label', 'Zoom in');
    zooms.append(less, more, all);
    app.page.info.processes.forEach((one, i) => {
      const option = element('option', {text: one.name});
      option.value = String(i);
      this.processes.append(option);
    });
    this.processes.setAttribute('aria-label', 'Process');
    this.processes.hidden = app.page.info.processes.length < 2;
    this.processes.addEventListener('change', () => this.changeProcess(Number(this.processes.value)));
    const head = element('div', {class: 'title'});
    head.append(this.title, zooms);
    bar.append(this.processes, this.legend.element);
    this.plot.element.append(this.tooltip.element);
    this.element.append(head, bar, this.overview.element, this.plot.element, this.span, this.pane.element);
  }

  private changeProcess(process: number): void {
    const info = this.app.page.info.processes[process],
          lane = Math.max(0, info.lanes.findIndex((one) => one.leads));
    this.app.go({
      process,
      lane,
      from: 0,
      to: Math.max(move.SHORTEST, info.end),
      at: info.lanes[lane]?.peak.t ?? null,
      range: null,
      selected: null,
      focus: null,
      hidden: storeOf(this.app.page, process).hiddenAtFirst
    });
  }

  /** The state with the hidden bands that are computed by now. */
  private computed(store: ProcessStore, state: ViewState): ViewState {
    if (this.hidden < 0 || store.prepare(state.hidden)) {
      this.hidden = state.hidden;
      return state;
    }
    this.app.redraw();
    return {...state, hidden: this.hidden};
  }

  /**
   * Draws a few times while the browser is idle. The browser compiles code that runs often. Without this it compiles in
   * the first frames of the first zoom, which then take 50 ms each.
   */
  private rehearse(): void {
    const {state} = this.app, by = (state.to - state.from) / 1000;
    for (let i = 6; i >= 0; i--) this.plot.draw({...state, hidden: this.hidden, to: state.to - i * by});
  }

  update(asked: ViewState): void {
    const store = storeOf(this.app.page, asked.process), state = this.computed(store, asked);
    this.processes.value = String(state.process);
    say(this.title, heading(store, state));
    this.legend.update(asked);
    this.overview.update(state);
    this.plot.draw(state);
    this.tooltip.update(state.lane, state.hidden);
    say(this.span, footing(store, state));
    this.pane.update(state);
  }

  /** What is at the picked instant, for a screen reader. */
  private speak(): void {
    const {state} = this.app, {store} = this.plot;
    if (state.at === null || store.info.lanes.length === 0) return;
    const place = plotModel(store).where(state.at), level = store.columns(state.lane, state.hidden).levelAt(state.at);
    const composition = store.composition(state.lane, state.at, state.hidden);
    let largest = '';
    if (composition !== null) {
      let most = 0;
      composition.bands.forEach((held, b) => {
        if (((state.hidden >> b) & 1) === 0 && held > composition.bands[most]) most = b;
      });
      largest = `, largest ${store.tables.bands[most]} ${bytes(composition.bands[most])}`;
    }
    this.app.announce(
        `${instant(state.at)}${place === '' ? '' : `, ${place}`}, ${bytes(level.highest)}${largest}`);
  }

  key(event: KeyboardEvent): boolean {
    const taken = this.keys.key(event);
    if (taken) this.tooltip.dismiss();
    return taken;
  }
}

/** "cuda:0 needs most at 12.131 s, in step 3, backward: 4.12 GiB of tensors". */
function heading(store: ProcessStore, state: ViewState): string {
  if (store.info.lanes.length === 0) return 'The trace has no allocation';
  const {memory, measure, peak} = store.lane(state.lane), place = plotModel(store).where(peak.t);
  const what = measure === 'tensor' ? ' of tensors' : '', most = bytes(store.peak(state.lane, state.hidden));
  return `Peak of ${memory}: ${most}${what} at ${instant(peak.t, store.info.end / 200)}${
      place === '' ? '' : `, in ${place}`}`;
}

/** What is shown, and how much of the run is stored event by event. */
function footing(store: ProcessStore, state: ViewState): string {
  const {rows, events, windows} = store.info, said: string[] = [];
  said.push(`Shown: ${duration(state.to - state.from)} of ${duration(store.info.end)}, ${
      laneName(store, state.lane)}.`);
  const count = (value: number) => value.toLocaleString('en');
  if (rows >= events)
    said.push(`All ${count(events)} events are stored.`);
  else {
    said.push(
        `Single events: ${count(rows)} of ${count(events)}, in ${windows.length} ` +
        `${windows.length === 1 ? 'window' : 'windows'} marked as raw data.`);
  }
  if (state.range !== null) said.push(`Selected: ${duration(state.range[1] - state.range[0])}; z zooms to it.`);
  return said.join(' ');
}

function makeTab(app: App): View { return new Timeline(app); }

export const timelineTab: Tab = {
  id: 'timeline',
  title: 'Timeline',
  offered: () => true,
  make: makeTab
};
