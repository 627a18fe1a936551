// Purpose: the JSON documents of memtrace, as `report`, `postmortem`, `explain` and `diff` print them.

/** Sizes are integers in bytes, times are seconds from the process's start. */
export interface Frame {
  function: string;
  file: string;
  line: number; // 0: unknown
  module: string;
  lang: 'python'|'native';
  own?: boolean; // true: the user's own code
}

/** Compact documents have the frames once for each process, in `sites`. */
export interface Site {
  id: string;
  frames?: Frame[]; // innermost first
}

export type Step = number|'steady'|null;

export interface Row {
  bytes: number;
  asked: number;
  blocks: number;
  kind: string|null;
  role: string;
  module?: string|null;
  site: Site|null;
  born_phase: string|null;
  born_step: number|null;
  lifetime: number|null;
  how: 'measured'|'sampled';
  resident?: number;
  untouched?: number; // bytes of address space that was reserved and never touched
  error?: number;
}

export interface Levels {
  entry_live: number;
  exit_live: number;
  peak_live: number;
  transient: number;
  net: number;
}

export interface Rss {
  anon: number;
  file: number;
  shmem: number;
}

/** A row without levels is of the time outside of phases. */
export interface PhaseRow extends Partial<Levels> {
  memory: string;
  phase: string;
  path: string[];
  step: Step;
  count: number;
  bucket?: [number, number]|null;
  allocated: number;
  freed: number;
  allocations: number;
  tensor?: (Levels&{at_peak?: Row[]})|null;
  rss?: {entry: Rss; exit: Rss; peak: Rss}|null;
  at_peak?: Row[];
}

export type Measure = 'live'|'tensor'|'reserved'|'used'|'rss';

export interface Peak {
  memory: string;
  measure: Measure;
  bytes: number;
  t: number;
  phase: string|null;
  step: number|null;
  at_peak: Row[];
  reserved_untouched?: number;
}

export interface LedgerRow {
  name: string;
  bytes: number;
  how: 'measured'|'sampled';
  given?: number;
  parts?: number;
}

export interface Ledger {
  scope: 'process'|'family'|'cgroup'|'node'|'device';
  memory: string;
  at: string;
  t?: number;
  total: number;
  high_water?: number;
  rows: LedgerRow[];
  residual: number;
  remarks?: string[];
  of?: string;
}

export interface Finding {
  id: string;
  title: string;
  memory: string;
  phase: string|null;
  step: number|null;
  bytes: number;
  bytes_at_peak?: number|null;
  bytes_at_end?: number|null;
  saving?: {measure: Measure; bytes: number}|null;
  confidence: 'certain'|'likely';
  evidence: string[];
  remedy: string;
  no_remedy?: string|null;
  site: Site|null;
}

export interface End {
  how: 'exit'|'signal'|'oom_kill'|'killed_by_manager'|'exec'|'running'|'unknown';
  code: number|null;
  evidence: string[];
  manager?: string;       // these three: of killed_by_manager alone
  for_memory?: boolean;
  after?: string|null;
}

export interface Parameters {
  count: number;
  trainable: number;
  bytes: number;
  tensors: number;
  by_dtype: Record<string, number>;
}

export interface Death {
  t: number;
  phase: string|null;
  step: number|null;
  memory?: string;
  live: number;
  tensor: number;
  rss: Rss|null;
  limit: number|null;
  limit_of?: string|null;
  filling: {bytes: number; touched: number; site: Site | null}|null;
  last: {t: number; bytes: number; site: Site | null}[];
  held?: Row[];
  held_tensor?: Row[];
  growth?: {t: number; live: number; tensor: number}[];
}

export interface Process {
  pid: number;
  ppid: number;
  host: string;
  exe: string;
  argv: string[];
  kind: string;
  rank: number|null;
  local_rank: number|null;
  devices: {memory: string; uuid: string; name: string; total: number}[];
  start_unix: number;
  duration: number;
  end: End;
  trace: {
    bytes: number; events: number; lost_events: number;
    live_error?: number;
    own_bytes?: number;
    exact_min?: number;
    sample_bytes?: number;
    coarsened_events?: number;
    damaged_bytes?: number;
    torch_snapshot?: unknown;
  };
  parameters: Parameters|null;
  phases: PhaseRow[];
  peaks: Peak[];
  ledger: Ledger[];
  bytes_per_parameter?: ParameterRow[];
  sites: Record<string, Site>;
  findings: Finding[];
  death?: Death|null;
}

export interface ReportDocument {
  schema: string;
  job: {id: string; attempt: number; launcher: string | null; world_size: number};
  processes: Process[];
  findings: Finding[];
  ledger?: Ledger[];
}

export interface ParameterRow {
  name: string;
  memory: string;
  role: string;
  kind: string|null;
  asked: number;
  bytes: number;
  resident: number;
  per_parameter: number;
  theory: number|null;
  kept: boolean;
  state: 'live'|'kept_by_malloc'|'kept_by_pinned_cache'|'freed';
  phase: string|null;
  step: number|null;
  site: Site|null;
  came_later?: {bytes: number; phase: string; step: number | null}|null;
}

export interface ExplainDocument {
  schema: string;
  parameters: {count: number; by_dtype: Record<string, number>}|null;
  setup: {optimizer: string|null; memory: string; after_step: number | null}|null;
  kept?: number;
  theory?: number|null;
  rows: ParameterRow[];
  not_per_parameter?: number;
  model_bytes?: number;
  alive?: number;
  unaccounted: number;
}

export interface DiffRow {
  bytes_a: number;
  bytes_b: number;
  change: number;
  phase: string|null;
  role: string;
  kind: string|null;
  site: Site|null;
  how?: 'measured'|'sampled';
  error?: number;
}

export interface DiffDocument {
  schema: string;
  a: string;
  b: string;
  memory: string;
  measure?: Measure;
  total: number;
  sides?: {name: string; pid: number; phase: string | null; step: number | null; bytes: number}[];
  rows: DiffRow[];
  first_step?: {for_good: number; only_then: number}|null;
}
