// Purpose: the JSON about a trace itself. docs/reference/json.md lists these fields on the site.

import {Measure, Site} from './document';

/** How good the trace is: what was lost, damaged or summed up. */
export interface TraceFacts {
  bytes: number; // the size of the files
  events: number; // in the trace
  lost_events: number; // that the recorder could not write
  lost_reasons: Record<string, number>; // events, by the reason
  lost_births: {events: number; bytes: number}; // of them, allocations
  lost_deaths: {events: number; bytes: number}; // of them, frees
  coarsened_events: number; // that were dropped: only rows of step ranges remain
  buckets: {steps: [number, number] | null; count: number; width: number}|'missing'|null; // the ranges
  live_error: number; // bytes: small blocks between two records of a thread
  error: Record<'live'|'peak'|'tensor', {below: number; above: number}>; // how far the true level may be from the figure
  exact_min: number; // `MEMTRACE_EXACT_MIN`
  sample_bytes: number; // `MEMTRACE_SAMPLE`
  device_source: string|null; // `cupti` or `hooks`
  cupti: string|null; // why CUPTI was not used, or that it was
  damaged_bytes: number; // that cannot be read
  damaged_file: string|null; // the first file with damage
  damaged_at: number|null; // its offset in bytes
  unknown_deaths: number; // frees of blocks whose birth is not in the trace
  own_bytes: number|null; // what memtrace itself held in the process
  pauses: Pauses|null; // of threads of the program, by memtrace; null: none is recorded
  cut_stacks: number; // stacks that lack their innermost frames
  written_by: string|null; // the version of memtrace
  newer: NewerParts|null; // parts that a newer memtrace wrote, and this one does not read
  torch_snapshot: {events: number; older: number}|null; // of a memory snapshot of PyTorch
  left_out_events: number; // that --quick did not read: only rows of step ranges stand for them
  rings_only?: {why: string; from: number; until: number | null}[]; // times in which no file could be written
}

/** The times for which memtrace held threads of the program, at a ledger or at a full ring. */
export interface Pauses {
  pauses: number; // how many
  sum: number; // seconds
  longest: number; // seconds
  share: number|null; // of the time of the process
  buckets: {up_to: number|null; pauses: number}[]; // by length in seconds; null: longer than all others
}

/** What a newer memtrace wrote, and this one does not read. */
export interface NewerParts {
  version: number; // of the format
  segments: number; // of `of_segments`
  of_segments: number; // all segments of the trace
  bytes: number; // of `segments`
  rings: boolean; // true: the file of the rings
  rows: boolean; // true: the rows of step ranges
}

/** One cycle of allocations. */
export interface Cycle {
  entry_live: number; // the level when it began
  transient: number; // how far it rose above that
  net: number; // what it left
  allocated: number; // bytes
}

/** A pattern that memtrace found in a program without phases. */
export interface Cycles {
  found: string; // how
  memory: string; // `host`
  count: number; // how many
  from: number; // when the first one began
  until: number; // when the last one ended
  period: number; // seconds, the median
  first: Cycle; // the first one
  typical: Cycle; // the median of the others
  site: Site|null; // that begins each cycle
}

/** A step of a long run that rose much higher than the typical one. */
export interface RareStep {
  steps: [number, number]; // twice the step, or the range that it is in
  memory: string; // `host` or `cuda:N`
  measure: Measure; // of the figures
  path: string[]; // its phase, the outermost first
  rise: number; // bytes above the level at the begin of the phase; of a range, at least
  typical_rise: number; // the same of the typical step
  largest_block: number|null; // bytes of its largest block, if known
  site: Site|null; // that made this block
}
