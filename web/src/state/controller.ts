// Purpose: hold the state of the page, draw the shown views once a frame, and keep the URL in step.

import {storeOf} from '../store/process_store';
import type {App, Documents, Pace, PageData, ViewState} from './app';
import {UrlState} from './history';
import {Announcer} from './announcer';

/**
 * The state that the page opens with: the whole run of the first process, at the peak of the lane that leads.
 */
export function firstState(page: PageData): ViewState {
  const process = page.info.processes[0];
  const lane = Math.max(0, process.lanes.findIndex((one) => one.leads));
  return {
    tab: page.info.mode === 'diff' ? 'diff' : 'findings',
    process: 0,
    lane,
    from: 0,
    to: Math.max(1000, process.end),
    at: process.lanes.length > 0 ? process.lanes[lane].peak.t : null,
    range: null,
    search: '',
    selected: null,
    focus: null,
    hidden: storeOf(page, 0).hiddenAtFirst,
    callers: false,
    allFrames: false,
    by: 'line',
    table: false,
    marks: new Array<number|null>(9).fill(null),
    choice: ''
  };
}

/** A state of this page: indices in range, the stretch of time within the run. */
function settle(page: PageData, state: ViewState): ViewState {
  const process = Math.min(page.info.processes.length - 1, Math.floor(state.process));
  const info = page.info.processes[process];
  const end = Math.max(1000, info.end);
  const span = Math.min(end, Math.max(1000, state.to - state.from));
  const from = Math.min(Math.max(0, state.from), end - span);
  return {
    ...state,
    process,
    lane: Math.max(0, Math.min(info.lanes.length - 1, Math.floor(state.lane))),
    from,
    to: from + span,
    at: state.at === null ? null : Math.min(end, Math.max(0, Math.round(state.at)))
  };
}

export class Controller implements App {
  readonly documents: Documents;
  state: ViewState;
  private readonly url: UrlState;
  private readonly announcer = new Announcer();
  private waiting = false;

  constructor(readonly page: PageData, private readonly draw: (state: ViewState) => void) {
    this.documents = page.documents;
    this.url = new UrlState(firstState(page), (state) => this.take(state));
    this.state = settle(page, this.url.read());
  }

  go(change: Partial<ViewState>, pace: Pace = 'step'): void {
    this.take({...this.state, ...change});
    this.url.write(this.state, pace === 'step');
  }

  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(this.state);
    });
  }

  announce(text: string): void { this.announcer.say(text); }

  private take(state: ViewState): void {
    this.state = settle(this.page, state);
    this.redraw();
  }
}
