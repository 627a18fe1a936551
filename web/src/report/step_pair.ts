// Purpose: puts the phases of two steps side by side, in the order in which they ran.

import {Process, Step} from './document';
import {PhaseLevels, phaseLevels} from './levels';

export interface PhasePair {
  readonly path: readonly string[];
  readonly a: PhaseLevels|null;
  readonly b: PhaseLevels|null;
}

/**
 * Returns the steps with levels in one memory: numbers upwards, "steady" last. Time outside of steps is no
 * step.
 */
export function comparableSteps(process: Process, memory: string, measure: 'live'|'tensor'): Step[] {
  const all = new Set(phaseLevels(process, memory, measure).map((one) => one.row.step));
  const numbers = [...all].filter((one): one is number => typeof one === 'number').sort((a, b) => a - b);
  return all.has('steady') ? [...numbers, 'steady'] : numbers;
}

/** Returns the phases of both steps; a phase that one of them lacks has null there. */
export function phasePairs(
    process: Process, memory: string, measure: 'live'|'tensor', a: Step, b: Step): PhasePair[] {
  const all = phaseLevels(process, memory, measure);
  const left = all.filter((one) => one.row.step === a);
  const right = all.filter((one) => one.row.step === b);
  const key = (one: PhaseLevels) => one.row.path.join('\n');
  const rights = new Map(right.map((one) => [key(one), one]));
  const pairs: PhasePair[] = left.map((one) => ({path: one.row.path, a: one, b: rights.get(key(one)) ?? null}));
  const lefts = new Set(left.map(key));
  for (const one of right)
    if (!lefts.has(key(one))) pairs.push({path: one.row.path, a: null, b: one});
  return pairs;
}
