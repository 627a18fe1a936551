// Purpose: the JSON of `memtrace report` and `memtrace postmortem`. docs/reference/json.md lists these fields on the site.

import {Capacity, FirstToFail, HostClock, HostOutlier, Job, Outlier} from './job';
import {Cycles, RareStep, TraceFacts} from './trace_facts';

/** A function on the stack of an allocation. */
export interface Frame {
  function: string; // as Python or the symbol table names it
  file: string; // of the source, or of the object if the source is not known
  line: number; // 0: unknown
  module: string; // the library or the program that has the code; empty for Python
  lang: 'python'|'native'; // of the code
  own?: boolean; // true: the code of the program itself, not of a library
}

/** A place in the program that allocated: a stack. */
export interface Site {
  id: string; // equal stacks have equal ids
  frames?: Frame[]; // innermost first. A document of `--compact` has them only in `sites` of the process
}

/** The number of a step; `"steady"`: a typical step; `null`: outside of steps, or not known. */
export type Step = number|'steady'|null;

/** Bytes that became resident later than the rest of their blocks. */
export interface CameLater {
  bytes: number; // of them
  phase: string; // in which most of them became resident
  step: number|null; // of that phase
}

/** Blocks alive at an instant with the same kind, role, site and birth. The rows of an instant add up to its level. */
export interface Row {
  bytes: number; // given by the allocator
  asked: number; // asked for by the program
  blocks: number; // 0: a row of memory that is counted exactly, but not block by block
  kind: string|null; // `heap`, `mmap_anon`, `shm`, `pinned`, `device` and so on; null: a row of several kinds
  role: string; // `parameter`, `gradient`, `activation` and so on; `unknown`: nothing identifies it
  module?: string|null; // of the model, as `layers.*.mlp`
  modules?: number; // how many modules this row is of, if `module` is given
  name?: string; // what it is, if the role alone does not tell: `exp_avg`, `cuBLAS`
  site: Site|null; // null: a row that completes the sum
  born_phase: string|null; // the phase in which the blocks were allocated
  born_step: number|null; // the step of it
  lifetime: number|null; // the median
  how: 'measured'|'sampled'; // `sampled`: estimated from samples of small blocks
  error?: number; // of `sampled`: bytes, 95 % of such rows are within it
  resident?: number; // of `bytes`, on the host
  untouched?: number; // bytes of address space that was reserved and never touched
  came_later?: CameLater; // the part that became resident later
}

/** The level of live bytes in a phase. */
export interface Levels {
  entry_live: number; // when its first occurrence in the step began
  exit_live: number; // when its last occurrence ended
  peak_live: number; // the highest
  transient: number; // the most that an occurrence had above both its begin and its end
  net: number; // what the phase added for good: the sum of exit less entry
}

/** Resident memory, as the kernel counts it. */
export interface Rss {
  anon: number; // anonymous memory
  file: number; // file mappings
  shmem: number; // also tmpfs
}

/** A level at the begin and at the end of a phase, and its highest. `null`: the GPU was not asked then. */
export interface Span {
  entry: number|null; // when its first occurrence in the step began
  exit: number|null; // when its last occurrence ended
  peak: number|null; // the highest
}

/** A site that allocated in the steps of a range. */
export interface Births {
  bytes: number; // allocated
  count: number; // blocks
  min: number; // the smallest block
  max: number; // the largest block
  kind: string; // as of a row
  tensor: boolean; // true: all were tensors
  site: Site|null; // null: the sum of all other sites
  bucket: [number, number]|null; // the steps
  how: 'measured'|'sampled'; // as of a row
}

/** The smallest values of the steps of a range. */
export interface LeastOfBucket extends Partial<Levels> {
  allocated: number; // bytes
  freed: number; // bytes
  allocations: number; // blocks
  count?: number; // occurrences
  tensor?: Levels; // the levels of tensors
  rss?: {entry: Rss; exit: Rss; peak: Rss}|null; // resident memory
  reserved?: Span|null; // of the allocator of a GPU
}

/** A phase in one memory and one step. The phase `other` is the time outside of phases: it has no levels. */
export interface PhaseRow extends Partial<Levels> {
  memory: string; // `host` or `cuda:N`
  phase: string; // the last name of `path`. The text of a report calls the phase `step` `update`
  path: string[]; // the names of the phases around it, the outermost first
  step: Step; // of the phase
  count: number; // occurrences in the step
  bucket: [number, number]|null; // the steps that this row is of. If it is a range, the figures are its largest
  allocated: number; // by this phase alone, without the phases inside it
  freed: number; // in this phase, by whatever phase allocated
  allocations: number; // blocks
  skipped?: boolean; // true: GradScaler skipped the update
  partial?: boolean; // true: a part of the phase is missing in the trace
  tensor?: Levels&{at_peak: Row[]}; // the levels of tensors
  rss?: {entry: Rss; exit: Rss; peak: Rss}|null; // resident memory, of the host alone
  reserved?: Span|null; // of the allocator of a GPU
  used?: Span|null; // as the GPU shows it
  at_peak?: Row[]; // what was alive at `peak_live`; empty for a range
  min?: LeastOfBucket; // of a range
  allocated_by?: Births[]; // of a range: the largest sites
}

/** The highest point of a phase over all steps. */
export interface PhasePeak {
  memory: string; // `host` or `cuda:N`
  path: string[]; // the names of the phases around it, the outermost first
  live: {bytes: number; step: number | null}; // of all allocations
  tensor: {bytes: number; step: number | null}; // of tensors
}

export type Measure = 'live'|'tensor'|'reserved'|'used'|'rss';

/** A segment of a GPU's allocator with unused bytes. */
export interface Segment {
  bytes: number; // its size
  in_blocks: number; // bytes that blocks use
  blocks: number; // their number
  site: Site|null; // of the largest block, which keeps the segment
  born_phase: string|null; // of that block
  born_step: number|null; // of that block
}

/** The segments of a GPU's allocator at its highest point. */
export interface Segments {
  count: number; // segments
  bytes: number; // their sizes
  in_blocks: number; // bytes that blocks use
  unused: number; // bytes that no block uses
  unused_beside_blocks: number; // in segments that a block keeps
  empty: number; // segments without a block
  in_mapped_pages: number; // bytes of blocks outside of segments: expandable segments
  most_unused: Segment[]; // the segments with the most unused bytes
}

/** The highest point of a measure in a memory. */
export interface Peak {
  memory: string; // `host` or `cuda:N`
  measure: Measure; // which level
  bytes: number; // the highest level
  t: number|null; // null: in a range of steps
  phase: string|null; // in which it was
  step: number|null; // in which it was
  at_peak: Row[]; // of `live` and `tensor`
  bucket?: [number, number]|null; // the range of steps that had it
  reserved_untouched?: number; // of `live`: reservations that were hardly touched, which headlines leave out
  segments?: Segments; // of `reserved`
  of?: 'process'|'card'; // of `used`: of this process, or of all that use the GPU
  not_known_in?: [number, number]|null; // of `used`: steps without this figure
}

/** A part of a ledger. */
export interface LedgerRow {
  name: string; // what it is: `tensors`, `heap in use`, `file mappings` and so on
  bytes: number; // resident
  how: 'measured'|'sampled'; // `sampled`: a part of the pages was looked at
  given?: number; // bytes that the allocator gave, of which `bytes` are resident
  parts?: number; // how many mappings or files the row has
}

/** An estimate of the memory of a GPU that no allocation explains. */
export interface ResidualParts {
  context: number; // there at the first look
  code: number; // came when kernels were loaded
  rest: number; // local memory of kernels, streams, handles of libraries
  how: 'estimate';
}

/** Where the memory that the kernel or a GPU counts went. The rows and the residual add up to the total. */
export interface Ledger {
  scope: 'process'|'family'|'cgroup'|'node'|'device'; // whose memory
  memory: string; // `host` or `cuda:N`
  at: string; // `peak_rss`, `peak_live`, `peak_used`, `end` or `death`
  t?: number; // when it was taken
  total: number; // as the kernel or the GPU says
  high_water?: number; // the most that the kernel ever counted
  rows: LedgerRow[]; // the parts that are known
  residual: number; // what no row has
  of?: string|null; // whose: the cgroup's name; `process` or `card` of a GPU
  remarks?: string[]; // sentences that the text of a report prints below it
  swap?: number; // bytes in swap
  numa?: {node: number; anonymous: number; page_cache: number}[]; // bytes on each NUMA node
  members?: {pid: number; rss: number; pss: number; private_dirty: number}[]; // of a family
  card?: number|null; // of a GPU: what it shows for all processes
  others?: number; // of a GPU: the number of other processes
  others_used?: number|null; // bytes of other processes on the GPU
  code_at_least?: number; // of a GPU: bytes of the kernels that were loaded
  residual_parts?: ResidualParts|null; // of a GPU
}

/** A limit of memory, and how much of it was used. */
export interface Headroom {
  of: 'cgroup'|'address_space'|'data'|'node'|'device'; // whose limit
  name: string|null; // of the cgroup, the node or the GPU; null: a limit of the process
  memory: string; // `host` or `cuda:N`
  limit: number; // in bytes
  soft: boolean; // true: the limit delays and does not fail (`memory.high`)
  needed: number|null; // at most, without what the kernel can drop
  used: number; // at most
  never_used: number; // `limit` less `used`
}

/** A cause, with its evidence and its remedy. */
export interface Finding {
  id: string; // the page Findings lists them
  title: string; // the first line of the text
  memory: string; // `host` or `cuda:N`
  phase: string|null; // in which it happened
  step: number|null; // in which it happened
  bytes: number; // what its title says; of a leak: for each step or event
  bytes_at_peak: number|null; // what its blocks held at the peak that the report leads with
  bytes_at_end: number|null; // at the death, else at the highest point of the last step
  saving: {measure: Measure; bytes: number}|null; // how much lower the peak is without it, from a replay
  confidence: 'certain'|'likely'; // `certain`: no other cause fits the evidence
  evidence: string[]; // sentences
  remedy: string; // what to change
  no_remedy: string|null; // what would not help
  site: Site|null; // the line to look at
}

/** How a process ended. */
export interface End {
  how: 'exit'|'signal'|'oom_kill'|'killed_by_manager'|'exec'|'running'|'stopped'|'unknown'; // what ended it; stopped: its recording
  code: number|null; // the exit status, or the number of the signal
  evidence: string[]; // sentences
  manager?: string; // these three: of `killed_by_manager` alone
  for_memory?: boolean; // true: the manager killed it because of memory
  after?: string|null; // the process whose failure made the manager act
}

/** The parameters of the model. */
export interface Parameters {
  count: number; // numbers in all parameters
  trainable: number; // of them
  bytes: number; // of all
  tensors: number; // their number
  by_dtype: Record<string, number>; // `count` by the type of the numbers
}

/** What was alive at a mark of the program. */
export interface Snapshot {
  name: string; // of the mark
  t: number; // when it was
  memory: string; // `host` or `cuda:N`
  phase: string; // in which it was
  step: number|null; // in which it was
  bytes: number; // all that was alive
  tensor: number; // of it, tensors
  at: Row[]; // what was alive
}

/** The last moments of a process that died, or whose allocation failed. */
export interface Death {
  t: number; // when
  unrecorded: number; // seconds between the last record and the death
  phase: string|null; // in which
  step: number|null; // in which
  memory?: string; // whose limit it was
  live: number; // all that was alive
  tensor: number; // of it, tensors
  rss: Rss|null; // resident memory at the last sample
  limit: number|null; // of the memory that ran out
  limit_of?: string|null; // the cgroup or the GPU
  filling: {bytes: number; touched: number | null; site: Site | null}|null; // a block that was being written
  last: {t: number; bytes: number; site: Site | null}[]; // the last allocations
  held?: Row[]; // what was alive, of all allocations
  held_tensor?: Row[]; // of tensors
  growth?: {t: number; live: number; tensor: number}[]; // the levels before
}

/** A GPU. */
export interface Device {
  memory: string; // `cuda:N`
  uuid: string;
  name: string;
  total: number; // its size
  used_is_unknown?: string|null; // why the most that it used is not known
}

/** What an armed process held when it began to record. */
export interface HeldBefore {
  t: number; // seconds since the start
  live: number; // of the host
  small: number; // part of `live` in small blocks
  tensor: number; // of the host
  devices: {memory: string; live: number; tensor: number; reserved: number}[];
}

/** A process of the job. */
export interface Process {
  pid: number; // as the process sees it
  ppid: number; // its parent
  host: string; // name of the machine
  exe: string; // path of the program
  argv: string[]; // values that look like secrets are replaced
  kind: string; // `main`, `rank`, `worker` or `child`
  rank: number|null; // of distributed training
  local_rank: number|null; // on its machine
  coordinates: Record<string, number>|null; // of the rank in the grid of its job: {"pp": 0, "dp": 1}
  worker_of?: number; // of a worker: the process that has its loader
  before_recording?: HeldBefore; // of an armed process: what it held then
  devices: Device[]; // the GPUs that it used
  start_unix: number; // seconds since 1970
  duration: number; // to its last record
  end: End; // how it ended
  trace: TraceFacts; // how good the trace is
  parameters: Parameters|null; // null: no model was seen
  phases: PhaseRow[]; // by default of step 0, the peak's step, the last one, and `steady`
  phase_peaks: PhasePeak[]; // the highest point of each phase
  peaks: Peak[]; // one for each memory and measure
  snapshots: Snapshot[]; // of `memtrace.snapshot`
  snapshots_left_out: number; // if there were more than 64
  ledger: Ledger[]; // where its resident memory went
  headroom: Headroom[]; // the limits that it had
  bytes_per_parameter: ParameterRow[]; // as `memtrace explain` has them
  cycles: Cycles|null; // null: it has phases, or no pattern
  rare_steps?: RareStep[]; // of at least 1,000 steps, at most 10 of them
  sites: Record<string, Site>; // by their ids
  findings: Finding[]; // about this process
  death?: Death|null; // of `memtrace.postmortem/1`
}

/** `memtrace report` prints `memtrace.report/1`. `memtrace postmortem` prints the same as `memtrace.postmortem/1`. */
export interface ReportDocument {
  schema: string; // the name and the version
  job: Job;
  processes: Process[]; // the first one leads the report
  findings: Finding[]; // about several processes
  outliers: Outlier[]; // ranks that hold more than the others
  host_outliers?: HostOutlier[]; // hosts with less memory, or with more page cache or shared memory, than the others
  first_to_fail?: FirstToFail|null; // null: no rank failed
  clocks?: HostClock[]; // of a job on several hosts
  gib_hours?: Capacity;
  ledger?: Ledger[]; // of `postmortem`: who held the memory of the limit
  first?: number|null; // of `postmortem`: the pid of the process that died first
  order?: {pid: number; how: string; unix: number}[]; // of `postmortem`: the ends, the earliest first
}

/** Memory that training keeps or needs for each parameter. */
export interface ParameterRow {
  name: string; // `parameter`, `gradient`, `exp_avg` and so on
  memory: string; // `host` or `cuda:N`
  role: string; // as of a row
  kind: string|null; // as of a row
  asked: number; // asked for by the program
  bytes: number; // given by the allocator
  resident: number; // of `bytes`
  per_parameter: number; // `resident` divided by the number of parameters
  theory: number|null; // bytes per parameter
  kept: boolean; // false: it was alive at the peak, and not after the last update
  state: 'live'|'kept_by_malloc'|'kept_by_pinned_cache'|'freed'; // what became of it after the last update
  phase: string|null; // of birth
  step: number|null; // of birth
  site: Site|null; // the largest one
  came_later: CameLater|null; // the part that became resident later
}
