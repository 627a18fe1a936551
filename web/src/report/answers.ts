// Purpose: the JSON of the other commands. docs/reference/json.md lists these fields on the site.

import {Frame, Measure, ParameterRow, Site} from './document';

/** `memtrace explain` prints `memtrace.explain/1`: bytes per parameter. */
export interface ExplainDocument {
  schema: string; // `memtrace.explain/1`
  parameters: {count: number; by_dtype: Record<string, number>}|null; // how many, by the type of the numbers
  setup: {optimizer: string|null; memory: string; after_step: number | null}|null; // `after_step`: this holds then
  kept: number; // bytes per parameter
  theory: number|null; // bytes per parameter
  rows: ParameterRow[]; // the largest first, those that are kept before the others
  parts_of_step: {name: string; step: number; kept: number; transient: number}[]; // as an engine marks them
  not_per_parameter: number; // live bytes that no row has: Python, libraries, small blocks
  model_bytes: number; // of the rows that belong to the model
  alive: number; // bytes when the last update ended
  kept_by_pinned_cache: number; // bytes in the cache of pinned memory
  unaccounted: number; // bytes per parameter that are tensors and in no row
  project?: {parameters: number; bytes: number}; // with `--project`
}

/** What differs between two sides. */
export interface DiffRow {
  bytes_a: number; // on side a
  bytes_b: number; // on side b
  change: number; // `bytes_b` less `bytes_a`
  phase: string|null; // of birth
  role: string; // as of a row
  kind: string|null; // as of a row
  site: Site|null; // null: the sum of the other rows
  how: 'measured'|'sampled'; // as of a row
  error?: number; // as of a row
}

export interface Side {
  name: string;
  pid: number;
  memory: string; // `host` or `cuda:N`; two ranks may have different GPUs
  phase: string|null;
  step: number|null;
  bytes: number;
}

/** `memtrace diff` prints `memtrace.diff/1`. The rows add up to the total. */
export interface DiffDocument {
  schema: string; // `memtrace.diff/1`
  a: string; // one side, in words
  b: string; // the other side
  memory: string; // `host` or `cuda:N`
  measure: Measure; // `live` or `tensor`
  total: number; // b less a
  sides: Side[]; // the instants that are compared
  rows: DiffRow[]; // the largest change first
  first_step?: {for_good: number; only_then: number}|null; // with `--first-vs-steady`
}

/** A call. The node 0 is the whole, and has no frame. */
export interface TreeNode extends Partial<Frame> {
  id: number; // its place in `nodes`
  parent: number|null; // null: the whole
  bytes: number; // with those of the calls below it
  blocks: number; // with those of the calls below it
  self_bytes: number; // that this call allocated itself
  self_blocks: number; // that this call allocated itself
}

/** `memtrace tree` prints `memtrace.tree/1`: the calls that held memory at the peak. */
export interface TreeDocument {
  schema: string; // `memtrace.tree/1`
  pid: number; // of the process
  memory: string; // `host` or `cuda:N`
  measure: Measure; // `live` or `tensor`
  finding: string|null; // with `--finding`
  at: 'peak'|'end'; // which instant
  t: number|null; // when it was
  phase: string|null; // in which it was
  step: number|null; // in which it was
  total: number; // bytes of the whole
  hidden_frames: number; // that are left out: see `--all-frames`
  nodes: TreeNode[]; // a parent before its calls
}

/** `memtrace doctor` prints `memtrace.doctor/1`. */
export interface DoctorDocument {
  schema: string; // `memtrace.doctor/1`
  records: boolean; // true: memtrace can record programs here
  verdict: string; // a sentence
  checks: {what: string; works: boolean; text: string}[]; // what was looked at
}

/** `memtrace env` prints `memtrace.env/1`. */
export interface EnvDocument {
  schema: string; // `memtrace.env/1`
  variables: Record<string, string|null>; // null: the variable is removed
}
