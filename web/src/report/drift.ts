// Purpose: the highest level of each step of the run, for a strip that shows drift.

import type {Block} from '../format/block';

export interface Drift {
  readonly number: Float64Array; // of the first step of each bucket
  readonly start: Float64Array;  // ns
  readonly end: Float64Array;    // ns
  readonly level: Float64Array;  // bytes, the highest in the bucket
}

/** Returns the steps of a process in one lane, or null if the page has none. */
export function driftOf(block: Block, process: number, lane: number): Drift|null {
  const name = (part: string) => `p${process}.step.${part}`;
  const parts = ['number', 'start', 'end', `lane${lane}`];
  if (!parts.every((part) => block.has(name(part)))) return null;
  const [number, start, end, level] = parts.map((part) => block.i64(name(part)));
  const same = number.length === start.length && number.length === end.length && number.length === level.length;
  return same && number.length > 0 ? {number, start, end, level} : null;
}

export interface Bar {
  readonly first: number; // index of the first bucket
  readonly last: number;
  readonly highest: number; // index of the bucket with the highest level
}

/** Returns at most `most` bars, each with the highest of its buckets, so that no peak is lost. */
export function barsOf(level: ArrayLike<number>, most: number): Bar[] {
  const width = Math.max(1, Math.ceil(level.length / most));
  const out: Bar[] = [];
  for (let first = 0; first < level.length; first += width) {
    const last = Math.min(level.length, first + width) - 1;
    let highest = first;
    for (let i = first + 1; i <= last; ++i)
      if (level[i] > level[highest]) highest = i;
    out.push({first, last, highest});
  }
  return out;
}
