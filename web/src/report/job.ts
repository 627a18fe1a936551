// Purpose: the JSON of a report about the whole job: ranks that differ, the first to fail, clocks, GiB-hours.

import {Site} from './document';

/** A rank that holds more than the other ranks. */
export interface Outlier {
  rank: number; // of the process
  coordinates: Record<string, number>|null; // of the rank
  pid: number; // of the process
  memory: string; // `host` or `cuda:N`
  bytes: number; // its peak
  phase: string; // of the peak
  step: number|null; // of the peak
  others: {count: number; least: number; median: number; most: number}; // of the other ranks of its pipeline stage
  row: OutlierRow; // what makes most of the difference
  rows: OutlierRow[]; // the largest differences, at most three
}

/** What a rank holds more than the others. */
export interface OutlierRow {
  role: string; // of the blocks
  bytes: number; // of the rank
  others: number; // the median of the other ranks
  site: Site|null; // null: no row is larger
}

/** A host whose memory, page cache or shared memory differs from those of the other hosts. */
export interface HostOutlier {
  host: string; // its name
  what: string; // `memory`, `page cache` or `shared memory`
  bytes: number; // of this host
  others: {count: number; median: number}; // of the other hosts
  ranks: number[]; // that ran on it
}

/** A rank that failed. */
export interface DeadRank {
  rank: number; // of the process
  host: string; // where it ran
  ended: string; // in words
  duration: number; // to its last record
}

/** Which rank failed first, and which only followed. */
export interface FirstToFail {
  first: DeadRank[]; // several if the clocks of their hosts give no order
  followed: DeadRank[]; // those that failed later, by rank
  did_not_fail: number; // other ranks
  later: number[]; // seconds from the first to those that followed: the least and the most
  clock_error: number; // seconds; 0 if all ranks ran on one host
  clocks_compared: boolean; // true: by the steps that the hosts have in common. false: the error is assumed
}

export interface Job {
  id: string;
  attempt: number; // counts the runs of a job that a launcher starts again
  launcher: string|null; // `torchrun`, `slurm` and so on
  world_size: number;
}

/** The clock of a host, compared by the begins of the steps that the hosts have in common. */
export interface HostClock {
  host: string;
  ahead: number; // seconds before the clock of the first host
  error: number; // seconds
  measured: boolean; // false: no common steps, so the error is assumed
}

/** A limit that the ranks of a job share, over the time of the job. */
export interface CapacityLimit {
  of: string; // `cgroup`, `node` or `device`
  host: string;
  name: string|null; // of the cgroup or the GPU
  ranks: number[];
  limit: number; // bytes
  needed: number|null; // bytes, at most
  used: number; // bytes, at most
  hours: number; // of use
  gib_hours: number; // `limit` times `hours`
  never_used: number; // GiB-hours
  cached: number|null; // GiB-hours that the allocator of a GPU held without need
}

/** The memory of a job, in GiB-hours. */
export interface Capacity {
  all: number; // of all limits
  never_used: number;
  cached: number;
  limits: CapacityLimit[];
}
