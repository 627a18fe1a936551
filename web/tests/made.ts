// Purpose: made-up runs of many shapes, written and decoded again.

import {decodeBlock} from '../src/format/decode';
import type {PageData} from '../src/format/decode';
import {readTables, type Tables} from '../src/store/tables';
import {LANES, type WriteOptions, writePage} from './page_writer';
import {Random} from './random';
import type {Trace} from './trace';
import {training} from './training';

export interface Made {
  trace: Trace;
  options: WriteOptions;
  page: PageData;
  tables: Tables;
}

export const LANE_COUNT = LANES.length;

export function make(trace: Trace, options: WriteOptions): Made {
  const page = decodeBlock(writePage(trace, options));
  return {trace, options, page, tables: readTables(page.block, page.info, 0)};
}

/** A small run with windows at random places, and keyframes between them. */
export function random(seed: number): Made {
  const random = new Random(seed);
  const trace = training({
    seed,
    steps: 1 + random.below(5),
    layers: 1 + random.below(4),
    tensors: 1 + random.below(4),
    wait: 1 + random.below(5000),
    pause: 1 + random.below(1_000_000)
  });
  const events = trace.time.length, cuts: number[] = [];
  for (let i = 0; i < 2 * random.below(4); i++) cuts.push(random.below(events + 1));
  cuts.sort((a, b) => a - b);
  const windows: {from: number; to: number; why: string}[] = [];
  for (let i = 0; i + 1 < cuts.length; i += 2) {
    let [from, to] = [cuts[i], cuts[i + 1]];
    // Windows hold all events of their first and last instant, and no two of them touch.
    while (from > 0 && from < events && trace.time[from] === trace.time[from - 1]) from++;
    while (to < events && to > from && trace.time[to] === trace.time[to - 1]) to++;
    const last = windows[windows.length - 1];
    if (to > from && (last === undefined || trace.time[last.to - 1] < trace.time[from]))
      windows.push({from, to, why: 'random'});
  }
  const keyframes: number[] = [];
  for (let i = 0; i < random.below(5); i++) keyframes.push(1 + random.below(events));
  keyframes.sort((a, b) => a - b);
  return make(trace, {bins: 1 + random.below(events), windows, keyframes});
}
