// Purpose: the types of the JSON section `page`: what the analyzer says of the run beside its columns.
// All times are nanoseconds since the process's start, all amounts are bytes.

export interface LaneInfo {
  readonly memory: string;
  readonly measure: 'live'|'tensor';
  readonly leads: boolean;
  /** `reserved`: bytes of the peak that were never touched, of the host's `live`. */
  readonly peak: {readonly bytes: number; readonly t: number; readonly reserved?: number};
}

export interface LineInfo {
  readonly memory: string;
  readonly name: string;
}

export interface LimitInfo {
  readonly memory: string;
  readonly name: string;
  readonly bytes: number;
}

export interface MarkInfo {
  readonly t: number;
  readonly kind: 'peak'|'finding'|'death'|'failure';
  readonly text: string;
  readonly finding: number|null;
  readonly lane: number|null;
}

/**
 * A stretch of time whose births and deaths are all stored. `set` and `levels` are those just before row
 * `first`.
 */
export interface WindowInfo {
  readonly from: number;
  readonly to: number;
  readonly why: string;
  readonly first: number;
  readonly rows: number;
  readonly set: number;
  readonly levels: readonly number[];
}

export interface KeyframeInfo {
  readonly t: number;
  readonly set: number;
  readonly levels: readonly number[];
}

export interface ProcessInfo {
  readonly report: number|null;
  readonly name: string;
  readonly end: number;
  readonly events: number;
  readonly rows: number;
  readonly lanes: readonly LaneInfo[];
  readonly lines: readonly LineInfo[];
  readonly limits: readonly LimitInfo[];
  readonly marks: readonly MarkInfo[];
  readonly windows: readonly WindowInfo[];
  readonly keyframes: readonly KeyframeInfo[];
  readonly paths: readonly(readonly string[])[];
  readonly phases_from: number;
}

export interface PageInfo {
  readonly version: string;
  readonly mode: 'report'|'diff';
  readonly roles: readonly string[];
  readonly kinds: readonly string[];
  readonly bands: readonly string[];
  readonly processes: readonly ProcessInfo[];
}

/** The documents that the command line prints as JSON; report/ has their types. */
export interface Documents {
  readonly report: unknown;
  readonly postmortem: unknown;
  readonly explain: unknown;
  readonly first_vs_steady: unknown;
  readonly diff: unknown;
}
