// Purpose: what lives at the picked instant: treemap, flame graph, search, the selection, and the same as
// tables.

import type {App, Tab, View, ViewState} from '../state/app';
import {bytes} from '../scale/bytes';
import {duration, instant} from '../scale/time';
import type {Composition} from '../store/composition';
import {type ProcessStore, storeOf} from '../store/process_store';
import {choice} from '../dom/choice';
import {button, element, say} from '../dom/element';
import {Flame} from './flame';
import {overview} from '../timeline/overview';
import {laneName, plotModel} from '../timeline/plot_model';
import {SearchBox} from './search_box';
import {Selection} from './selection';
import {Treemap} from './treemap';
import {Twin} from './twin';

export class CompositionPane {
  readonly element = element('section', {class: 'composition'});
  private readonly title = element('h2');
  private readonly note = element('p', {class: 'note'});
  private readonly lanes = element('select');
  private readonly under = element('p', {class: 'under muted'});
  private readonly search: SearchBox;
  private readonly treemap: Treemap;
  private readonly flame: Flame;
  private readonly selection: Selection;
  private readonly twin: Twin;
  private readonly body = element('div', {class: 'composed'});
  private readonly by;
  private readonly way;
  private readonly frames: HTMLButtonElement;
  private readonly tables: HTMLButtonElement;
  private readonly unfocus: HTMLButtonElement;
  private process = -1;

  constructor(private readonly app: App) {
    const hovered = (text: string) => say(this.under, text === '' ? this.folded() : text);
    this.search = new SearchBox(app);
    this.treemap = new Treemap(app, hovered);
    this.flame = new Flame(app, hovered);
    this.selection = new Selection(app);
    this.twin = new Twin(app);
    this.by =
        choice('Sites', [['line', 'by your line'], ['site', 'by site']], (by: 'line'|'site') => app.go({by}));
    this.way = choice(
        'Flame graph', [['down', 'callers on top'], ['up', 'sites on top']],
        (way: 'down'|'up') => app.go({callers: way === 'up', focus: null}));
    this.frames = button(
        'All frames', () => app.go({allFrames: !app.state.allFrames, focus: null}),
        {title: 'Show frames of the interpreter, the dispatcher and allocators'});
    this.tables = button('Table', () => app.go({table: !app.state.table}), {title: 't'});
    this.unfocus = button('Leave focus', () => app.go({focus: null}), {title: 'Escape'});
    this.lanes.setAttribute('aria-label', 'Memory');
    this.lanes.addEventListener('change', () => app.go({lane: Number(this.lanes.value)}));
    this.assemble();
  }

  private assemble(): void {
    const bar = element('div', {class: 'bar'}), left = element('div', {class: 'graphs'});
    bar.append(
        this.lanes, this.by.element, this.way.element, this.frames, this.tables, this.unfocus,
        this.search.element);
    left.append(this.treemap.element, this.flame.element, this.under);
    this.body.append(left, this.selection.element);
    this.element.append(this.title, this.note, bar, this.body, this.twin.element);
  }

  focusSearch(): void { this.search.focus(); }

  nextMatch(by: 1|- 1): void { this.search.next(by); }

  private folded(): string {
    const {state} = this.app, store = storeOf(this.app.page, state.process);
    if (state.allFrames || store.hiddenFrames === 0) return 'Click selects, double click focuses.';
    return `${
               store.hiddenFrames.toLocaleString(
                   'en')} frames of the interpreter, the dispatcher and allocators are ` +
        'folded. Click selects, double click focuses.';
  }

  update(state: ViewState): void {
    const store = storeOf(this.app.page, state.process);
    if (this.process !== state.process) this.choices(store);
    this.process = state.process;
    this.lanes.value = String(state.lane);
    this.by.set(state.by);
    this.way.set(state.callers ? 'up' : 'down');
    this.frames.setAttribute('aria-pressed', String(state.allFrames));
    this.tables.setAttribute('aria-pressed', String(state.table));
    this.unfocus.hidden = state.focus === null;
    const composition = state.at === null ? null : store.composition(state.lane, state.at, state.hidden);
    this.body.hidden = composition === null || state.table;
    this.twin.element.hidden = composition === null || !state.table;
    say(this.title, composition === null ? 'No composition' : heading(store, state, composition));
    say(this.note, composition === null ? missing(state) : distance(state, composition));
    this.note.hidden = this.note.textContent === '';
    this.search.update(state);
    if (composition === null) return;
    if (this.under.textContent === '') say(this.under, this.folded());
    if (state.table) {
      this.twin.update(state);
      return;
    }
    this.treemap.update(state);
    this.flame.update(state);
    this.selection.update(state);
  }

  private choices(store: ProcessStore): void {
    this.lanes.replaceChildren(...store.info.lanes.map((_, i) => {
      const option = element('option', {text: laneName(store, i)});
      option.value = String(i);
      return option;
    }));
  }
}

/** "At 12.131 s, in step 3, backward: activation holds 3.10 GiB of 4.12 GiB". */
function heading(store: ProcessStore, state: ViewState, composition: Composition): string {
  const {bands, instant: of, level} = composition, {where} = plotModel(store);
  let most = -1;
  for (let b = 0; b < bands.length; b++) {
    if (((state.hidden >> b) & 1) === 0 && (most < 0 || bands[b] > bands[most])) most = b;
  }
  const place = where(of.t), peak = store.lane(state.lane).peak,
        time = instant(of.t, (state.to - state.from) / 200);
  const when = of.exact && Math.abs(of.t - peak.t) < 1 ? `At the peak, ${time}` : `At ${time}`;
  const start = `${when}${place === '' ? '' : `, in ${place}`}: `;
  if (level <= 0 || most < 0) return `${start}nothing is live`;
  return `${start}${store.tables.bands[most]} holds ${bytes(bands[most])} of ${bytes(level)}`;
}

/** In words, that the blocks are those of another instant. */
function distance(state: ViewState, composition: Composition): string {
  const {t, exact} = composition.instant;
  if (exact || state.at === null) return '';
  const away = state.at - t;
  if (Math.abs(away) < 1) return '';
  return `No single events are stored at ${
             instant(
                 state.at,
                 (state.to - state.from) / 200)}. This is the nearest instant whose blocks are known, ` +
      `${duration(Math.abs(away))} ${away > 0 ? 'before' : 'after'} it.`;
}

function missing(state: ViewState): string {
  return state.at === null ? 'Pick an instant in the timeline: click, or press Enter.' :
                             'The data knows the live blocks of no instant.';
}

function makeTab(app: App): View {
  const tab = element('div', {class: 'tab-composition'}), whole = overview(app), pane = new CompositionPane(app);
  tab.append(whole.element, pane.element);
  return {
    element: tab,
    update(state) {
      whole.update(state);
      pane.update(state);
    },
    key(event) {
      if (event.altKey) return false;
      if (event.key === '/')
        pane.focusSearch();
      else if (event.key === 'n' || event.key === 'N')
        pane.nextMatch(event.key === 'n' ? 1 : -1);
      else if (event.key === 't')
        app.go({table: !app.state.table});
      else if (event.key === 'Escape')
        app.go({selected: null, focus: null, search: ''});
      else if (event.key === 'Backspace')
        history.back();
      else
        return false;
      return true;
    }
  };
}

export const compositionTab: Tab = {
  id: 'composition',
  title: 'Composition',
  offered: (page) => page.info.processes.some((one) => one.lanes.length > 0),
  make: makeTab
};
