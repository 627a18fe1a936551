// Purpose: the keys of the plot, as the help lists them.

import type {App} from '../state/app';
import type {ProcessStore} from '../store/process_store';
import * as move from './navigation';

export interface KeyTarget {
  readonly app: App;
  store(): ProcessStore;
  /** The instant under the pointer, or null. */
  hover(): number|null;
  /** ns of one pixel. */
  grain(): number;
  search(): void;
  legend(): void;
  nextMatch(by: 1|- 1): void;
  say(): void;
}

export class PlotKeys {
  private marking = false;

  constructor(private readonly target: KeyTarget) {}

  /** True if the key was one of the plot. */
  key(event: KeyboardEvent): boolean {
    if (event.altKey) return false;
    if (this.marking) {
      if (event.key === 'Shift') return false;
      this.marking = false;
      if (/^[1-9]$/.test(event.key))
        return this.go(move.mark(this.store, this.target.app.state, Number(event.key)));
    }
    return this.walk(event) || this.act(event);
  }

  private get store(): ProcessStore { return this.target.store(); }

  private go(change: move.Change|null, pace: 'step'|'drag' = 'step'): boolean {
    if (change === null)
      this.target.app.announce('there is no further one');
    else
      this.target.app.go(change, pace);
    this.target.say();
    return true;
  }

  /** Keys that zoom and pan. */
  private walk(event: KeyboardEvent): boolean {
    const {state} = this.target.app, {end} = this.store.info, span = state.to - state.from;
    const inside = state.at !== null && state.at >= state.from && state.at <= state.to;
    const centre = inside && state.at !== null ? state.at : (state.from + state.to) / 2;
    const far = event.shiftKey ? 0.8 : 0.12;
    switch (event.key) {
      case 'w':
      case 'W':
      case '+':
      case '=':
        return this.go(move.zoom(state, centre, event.key === 'W' ? 0.2 : 0.6, end), 'drag');
      case 's':
      case 'S':
      case '-':
        return this.go(move.zoom(state, centre, event.key === 'S' ? 5 : 1 / 0.6, end), 'drag');
      case 'a':
      case 'A':
        return this.go(move.pan(state, -span * far, end), 'drag');
      case 'd':
      case 'D':
        return this.go(move.pan(state, span * far, end), 'drag');
      case 'ArrowLeft':
      case 'ArrowRight':
        return this.arrow(event.key === 'ArrowLeft' ? -1 : 1, event.shiftKey);
      case ',':
      case '.':
      case '<':
      case '>': {
        const by = (event.key === ',' || event.key === '<' ? -1 : 1) * (/[<>]/.test(event.key) ? 20 : 1);
        return this.go(
            move.reach(state, Math.max(0, Math.min(end, centre + by * this.target.grain())), end), 'drag');
      }
      default:
        return false;
    }
  }

  private arrow(by: 1|- 1, select: boolean): boolean {
    const {state} = this.target.app, {end} = this.store.info, span = state.to - state.from;
    if (!select) return this.go(move.pan(state, by * span * 0.12, end), 'drag');
    const fixed = state.at ?? (state.from + state.to) / 2;
    const other = state.range === null ? fixed : state.range[0] === fixed ? state.range[1] : state.range[0];
    const moved = Math.max(0, Math.min(end, other + by * span * 0.02));
    if (moved === fixed) return this.go({range: null}, 'drag');
    return this.go({range: moved < fixed ? [moved, fixed] : [fixed, moved]}, 'drag');
  }

  private act(event: KeyboardEvent): boolean {
    const {state} = this.target.app, {store} = this;
    switch (event.key) {
      case '[':
        return this.go(move.step(store, state, -1));
      case ']':
        return this.go(move.step(store, state, 1));
      case '{':
        return this.go(move.edge(store, state, -1));
      case '}':
        return this.go(move.edge(store, state, 1));
      case 'p':
        return this.go(move.peak(store, state, 1));
      case 'P':
        return this.go(move.peak(store, state, -1));
      case 'f':
        return this.go(move.finding(store, state, 1));
      case 'F':
        return this.go(move.finding(store, state, -1));
      case 'm':
        this.marking = true;
        this.target.app.announce('mark: press 1 to 9');
        return true;
      case '0':
        return this.go({from: 0, to: Math.max(move.SHORTEST, store.info.end)});
      case 'z':
        return state.range === null ? false :
                                      this.go(move.show(state.range[0], state.range[1], store.info.end));
      default:
        return this.other(event);
    }
  }

  private other(event: KeyboardEvent): boolean {
    const {app} = this.target, {state} = app;
    switch (event.key) {
      case 'Backspace':
        history.back();
        return true;
      case 'Enter':
        if (event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement)
          return false;
        return this.go({at: this.target.hover() ?? (state.from + state.to) / 2});
      case 'Escape':
        if (state.range === null && state.selected === null && state.search === '') return false;
        return this.go({range: null, selected: null, focus: null, search: ''});
      case 't':
        return this.go({table: !state.table});
      case '/':
        this.target.search();
        return true;
      case 'n':
      case 'N':
        this.target.nextMatch(event.key === 'n' ? 1 : -1);
        return true;
      case 'l':
        this.target.legend();
        return true;
      case 'h':
        return state.hidden === 0 ? false : this.go({hidden: 0});
      default:
        return false;
    }
  }
}
