// Purpose: the blocks that live at an instant, by class: replayed from rows, or those of the nearest known
// instant.

import {upperBound} from './search_sorted';
import type {Tables} from './tables';

export interface Instant {
  /** The instant whose blocks these are, ns. */
  readonly t: number;
  /** True if it stands for the asked instant exactly. */
  readonly exact: boolean;
  /** The window and the last replayed row (below the window's first: its start); window -1: a keyframe. */
  readonly window: number;
  readonly row: number;
  readonly keyframe: number;
}

export class Replay {
  /** Live blocks by class, after `moveTo`. */
  readonly counts: Float64Array;
  private window = -1;
  private row = -1;

  constructor(private readonly tables: Tables) { this.counts = new Float64Array(tables.class.group.length); }

  /** Returns null if the data knows the live blocks of no instant. */
  moveTo(t: number): Instant|null {
    const {windows} = this.tables.info;
    const inside = windows.findIndex((one) => one.from <= t && t <= one.to);
    if (inside >= 0) return this.toRow(inside, this.rowAt(inside, t), t, true);
    return this.nearest(t);
  }

  private rowAt(window: number, t: number): number {
    const {first, rows} = this.tables.info.windows[window];
    return upperBound(this.tables.row.time, t, first, first + rows) - 1;
  }

  private nearest(t: number): Instant|null {
    const {windows, keyframes, end} = this.tables.info;
    let best = Infinity, window = -1, keyframe = -1, atEnd = false;
    windows.forEach((one, i) => {
      const away = Math.min(Math.abs(one.from - t), Math.abs(one.to - t));
      if (away < best)
        [best, window, keyframe, atEnd] = [away, i, -1, Math.abs(one.to - t) <= Math.abs(one.from - t)];
    });
    keyframes.forEach((one, i) => {
      if (Math.abs(one.t - t) < best) [best, window, keyframe] = [Math.abs(one.t - t), -1, i];
    });
    if (keyframe >= 0) return this.toKeyframe(keyframe);
    if (window < 0) return null;
    const {first, rows, from, to} = windows[window];
    if (!atEnd) return this.toRow(window, first - 1, from, false);
    // After the last event of the run nothing changes any more.
    return this.toRow(window, first + rows - 1, to, t >= to && to >= end);
  }

  private load(set: number): void {
    const {start, class: kinds, count} = this.tables.set;
    this.counts.fill(0);
    for (let i = start[set]; i < start[set + 1]; i++) this.counts[kinds[i]] += count[i];
  }

  private toKeyframe(keyframe: number): Instant {
    const {t, set} = this.tables.info.keyframes[keyframe];
    this.load(set);
    this.window = -1;
    return {t, exact: false, window: -1, row: -1, keyframe};
  }

  /** Moves from where it stands if that is nearer than the start of the window. */
  private toRow(window: number, row: number, t: number, exact: boolean): Instant {
    const {first, set} = this.tables.info.windows[window];
    if (this.window !== window || Math.abs(row - this.row) > row - first + 1) {
      this.load(set);
      this.window = window;
      this.row = first - 1;
    }
    const {counts} = this, {class: kinds, ref} = this.tables.row;
    for (let i = this.row + 1; i <= row; i++) counts[kinds[i]] += ref[i] === 0 ? 1 : -1;
    for (let i = this.row; i > row; i--) counts[kinds[i]] -= ref[i] === 0 ? 1 : -1;
    this.row = row;
    return {t, exact, window, row, keyframe: -1};
  }
}
