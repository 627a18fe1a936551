// Purpose: leads from a figure to its instant in the timeline.

import type {ProcessInfo} from '../format/page';
import type {App} from '../state/app';
import {duration, fixed} from '../wording/units';
import {button} from '../dom/element';

/**
 * Returns the stretch of time that shows an instant well: the window with its single events, else 1/20 of the
 * run.
 */
export function stretch(info: ProcessInfo, t: number): {from: number; to: number} {
  const window = info.windows.find((one) => one.from <= t && t <= one.to);
  const margin = window === undefined ? info.end / 40 : (window.to - window.from) / 20;
  const from = window === undefined ? t : window.from;
  const to = window === undefined ? t : window.to;
  return {from: Math.max(0, Math.floor(from - margin)), to: Math.min(info.end, Math.ceil(to + margin))};
}

/** Returns the lane of a memory and a measure, or -1. */
export function laneOf(info: ProcessInfo, memory: string, measure: string): number {
  return info.lanes.findIndex((lane) => lane.memory === memory && lane.measure === measure);
}

/** Shows an instant (ns) in the timeline. `lane`: -1 keeps the one that is chosen. */
export function goTo(app: App, process: number, t: number, lane = -1): void {
  const info = app.page.info.processes[process];
  app.go({
    tab: 'timeline',
    process,
    at: Math.round(t),
    lane: lane >= 0 ? lane : app.state.lane,
    ...stretch(info, t)
  });
}

/** A button that reads "at 16.7 s" and shows that instant. */
export function instantButton(app: App, process: number, seconds: number, lane = -1): HTMLButtonElement {
  return button(
      `at ${seconds < 120 ? fixed(seconds, 1) + " s" : duration(seconds)}`,
      () => goTo(app, process, seconds * 1e9, lane),
      {class: 'instant', title: `Shows ${seconds} s in the timeline`});
}

/** Returns the button behind a comma. A peak in a range of steps has no instant. */
export function atInstant(
    app: App, process: number, seconds: number|null, lane = -1): (string|HTMLButtonElement)[] {
  return seconds === null ? [] : [', ', instantButton(app, process, seconds, lane)];
}
