// Purpose: phases by depth and steps, for the strips above the plot and for texts.

import {upperBound} from './search_sorted';
import type {Tables} from './tables';

/** Intervals that ascend and do not overlap; `of` leads back to the phase or step. */
export interface Strip {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly of : Uint32Array;
}

export function stepStrip(tables: Tables): Strip {
  const {start, end} = tables.step;
  return {start, end, of: Uint32Array.from(start, (_, i) => i)};
}

/** One strip for each depth, outermost first, at most `most`. */
export function phaseStrips(tables: Tables, most: number): Strip[] {
  const {start, end, depth} = tables.phase, out: Strip[] = [];
  for (let level = 0; level < most; level++) {
    const of: number[] = [];
    for (let i = 0; i < start.length; i++) {
      if (depth[i] === level) of.push(i);
    }
    if (of.length === 0) break;
    out.push({
      start: Float64Array.from(of, (i) => start[i]),
      end: Float64Array.from(of, (i) => end[i]),
      of: Uint32Array.from(of)
    });
  }
  return out;
}

/** The interval that holds `t`; -1: none. */
export function intervalAt(strip: Strip, t: number): number {
  const i = upperBound(strip.start, t) - 1;
  return i >= 0 && t <= strip.end[i] ? i : -1;
}

/** The number of the step, or of the steps of a bucket: "3", "12 to 15". */
export function stepName(tables: Tables, step: number): string {
  const {number} = tables.step, first = number[step];
  const next = step + 1 < number.length ? number[step + 1] : first + 1;
  return next - first > 1 ? `${first} to ${next - 1}` : String(first);
}

/** "step 3, backward"; the names of phases around `t`, outermost first; "" if there is none. */
export function where(tables: Tables, strips: readonly Strip[], steps: Strip, t: number): string {
  const said: string[] = [], step = intervalAt(steps, t);
  if (step >= 0) said.push(`step ${stepName(tables, step)}`);
  let path: readonly string[] = [];
  for (const strip of strips) {
    const i = intervalAt(strip, t);
    if (i >= 0) path = tables.info.paths[tables.phase.path[strip.of[i]]];
  }
  said.push(...path.filter((name) => !(name === 'step' && step >= 0)));
  return said.join(', ');
}
