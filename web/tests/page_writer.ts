// Purpose: write a made-up trace as the block of a page: bins over the whole run, rows in windows, live sets.

import {BlockWriter} from './encoder';
import {BANDS, KINDS, ROLES, type Trace} from './trace';

export interface Lane {
  memory: string;
  measure: 'live'|'tensor';
}

export const LANES: readonly Lane[] = [
  {memory: 'cuda:0', measure: 'tensor'}, {memory: 'cuda:0', measure: 'live'}, {memory: 'host', measure: 'live'}
];

/** A window, as events from `from` up to, but without, `to`. */
export interface EventRange {
  from: number;
  to: number;
  why: string;
}

export interface WriteOptions {
  bins: number;
  /** Windows as ranges of events, and why. */
  windows: readonly EventRange[];
  keyframes: readonly number[];
  name?: string;
  documents?: unknown;
  hostile?: boolean;
  /** Buckets of steps. */
  steps?: number;
  limit?: number;
}

/** The level and the bands of one lane, moved event by event. Written apart from the page's own code. */
export class Reference {
  level = 0;
  readonly bands = new Array<number>(BANDS.length).fill(0);
  constructor(private readonly trace: Trace, readonly lane: Lane) {}

  private amounts(kind: number): [number, number, number] {
    const {trace, lane} = this;
    const group = trace.class.group[kind], memory = lane.memory === 'host' ? 0 : 1;
    if (kind === 0 || trace.class.memory[kind] !== memory) return [0, 0, 0];
    const tensor = trace.class.tensor[kind], given = trace.class.given[kind];
    const sampled = (trace.group.flags[group] & 2) !== 0, isTensor = (trace.group.flags[group] & 1) !== 0;
    const band = trace.group.band[group];
    if (lane.measure === 'tensor') return [tensor, band, tensor];
    const level = sampled ? 0 : given;
    if (memory === 0) return [level, band, level];
    if (isTensor) return [level, band, tensor];
    return [level, band, BANDS[band] === 'cache' ? 0 : level];
  }

  apply(i: number): void {
    const {trace} = this;
    if (this.lane.memory === 'host' && this.lane.measure === 'live') this.level += trace.small[i];
    const sign = trace.birth[i] < 0 ? 1 : -1;
    const [level, band, bytes] = this.amounts(trace.event[i]);
    this.level += sign * level;
    this.bands[band] += sign * bytes;
  }

  /** All bands; the remainder completes the sum to the level. */
  vector(): number[] {
    const out = [...this.bands];
    if (this.lane.measure === 'live') {
      const rest = BANDS.indexOf(this.lane.memory === 'host' ? 'unattributed' : 'cache');
      out[rest] = 0;
      out[rest] = this.level - out.reduce((a, b) => a + b, 0);
    }
    return out;
  }
}

function binEdges(events: number, bins: number): number[] {
  const count = Math.max(1, Math.min(bins, events)), edges: number[] = [];
  for (let i = 0; i <= count; i++) edges.push(Math.floor(i * events / count));
  return edges;
}

function writeLane(
    out: BlockWriter, trace: Trace, options: WriteOptions, index: number): {bytes: number; t: number} {
  const edges = binEdges(trace.time.length, options.bins), bins = edges.length - 1;
  const max = new Array<number>(bins), at = new Array<number>(bins), min = new Array<number>(bins),
        last = new Array<number>(bins), bands = new Array<number>(bins * BANDS.length);
  const reference = new Reference(trace, LANES[index]);
  let peak = 0, when = 0;
  for (let bin = 0; bin < bins; bin++) {
    max[bin] = -1;
    min[bin] = Infinity;
    for (let i = edges[bin]; i < edges[bin + 1]; i++) {
      reference.apply(i);
      if (reference.level > max[bin]) {
        max[bin] = reference.level;
        at[bin] = trace.time[i];
        reference.vector().forEach((bytes, band) => (bands[band * bins + bin] = bytes));
      }
      min[bin] = Math.min(min[bin], reference.level);
    }
    last[bin] = reference.level;
    if (max[bin] > peak) [peak, when] = [max[bin], at[bin]];
  }
  const put = (name: string, values: number[], delta = false) =>
      out.add(`p0.lane${index}.${name}`, 'i64', values, delta);
  put('max', max);
  put('at', at, true);
  put('min', min);
  put('last', last);
  put('bands', bands);
  return {bytes: peak, t: when};
}

function writeBins(out: BlockWriter, trace: Trace, bins: number): void {
  const edges = binEdges(trace.time.length, bins), count = edges.length - 1;
  const start: number[] = [], end: number[] = [], births: number[] = [], events: number[] = [];
  for (let bin = 0; bin < count; bin++) {
    start.push(trace.time[edges[bin]]);
    end.push(trace.time[edges[bin + 1] - 1]);
    let born = 0;
    for (let i = edges[bin]; i < edges[bin + 1]; i++) born += trace.birth[i] < 0 && trace.event[i] > 0 ? 1 : 0;
    births.push(born);
    events.push(edges[bin + 1] - edges[bin]);
  }
  out.add('p0.bin.start', 'i64', start, true);
  out.add('p0.bin.end', 'i64', end);
  out.add('p0.bin.births', 'u32', births);
  out.add('p0.bin.events', 'u32', events);
}

interface Snapshot {
  set: Map<number, number>;
  levels: number[];
}

/** What lives just before each of these events, which ascend. */
function snapshots(trace: Trace, before: readonly number[]): Snapshot[] {
  const references = LANES.map((lane) => new Reference(trace, lane));
  const alive = new Map<number, number>(), out: Snapshot[] = [];
  let next = 0;
  for (let i = 0; i <= trace.time.length && next < before.length; i++) {
    while (next < before.length && before[next] === i) {
      out.push({set: new Map(alive), levels: references.map((one) => one.level)});
      next++;
    }
    if (i === trace.time.length) break;
    references.forEach((one) => one.apply(i));
    const kind = trace.event[i];
    if (kind > 0) alive.set(kind, (alive.get(kind) ?? 0) + (trace.birth[i] < 0 ? 1 : -1));
  }
  return out;
}

function writeRows(out: BlockWriter, trace: Trace, windows: WriteOptions['windows']): void {
  const time: number[] = [], kind: number[] = [], ref: number[] = [], small: number[] = [];
  const row = new Map<number, number>();
  for (const {from, to} of windows) {
    row.clear();
    for (let i = from; i < to; i++) {
      const at = time.length, born = trace.birth[i];
      row.set(i, at);
      time.push(trace.time[i]);
      kind.push(trace.event[i]);
      const mother = row.get(born);
      ref.push(born < 0 ? 0 : mother === undefined ? 0xffffffff : at - mother);
      small.push(trace.small[i]);
    }
  }
  out.add('p0.row.time', 'i64', time, true);
  out.add('p0.row.class', 'u32', kind);
  out.add('p0.row.ref', 'u32', ref);
  out.add('p0.row.small', 'i64', small);
}

function writeSets(out: BlockWriter, sets: readonly Snapshot[]): void {
  const start = [0], kinds: number[] = [], counts: number[] = [];
  for (const one of sets) {
    for (const [kind, count] of [...one.set].sort((a, b) => a[0] - b[0])) {
      if (count === 0) continue;
      kinds.push(kind);
      counts.push(count);
    }
    start.push(kinds.length);
  }
  out.add('p0.set.start', 'u32', start);
  out.add('p0.set.class', 'u32', kinds);
  out.add('p0.set.count', 'u32', counts);
}

function writeSteps(out: BlockWriter, trace: Trace, buckets: number): void {
  const {step} = trace, count = Math.min(buckets, step.number.length);
  const first = (i: number) => Math.floor(i * step.number.length / count);
  const number: number[] = [], start: number[] = [], end: number[] = [];
  for (let i = 0; i < count; i++) {
    number.push(step.number[first(i)]);
    start.push(step.start[first(i)]);
    end.push(step.end[first(i + 1) - 1]);
  }
  out.add('p0.step.number', 'i64', number);
  out.add('p0.step.start', 'i64', start, true);
  out.add('p0.step.end', 'i64', end);
  LANES.forEach((lane, index) => {
    const reference = new Reference(trace, lane), highest = new Array<number>(count).fill(0);
    for (let i = 0, bucket = 0; i < trace.time.length; i++) {
      reference.apply(i);
      while (bucket + 1 < count && trace.time[i] >= start[bucket + 1]) bucket++;
      if (count > 0 && trace.time[i] >= start[bucket])
        highest[bucket] = Math.max(highest[bucket], reference.level);
    }
    out.add(`p0.step.lane${index}`, 'i64', highest);
  });
}

function writePhases(out: BlockWriter, trace: Trace): void {
  out.add('p0.phase.path', 'u32', trace.phase.path);
  out.add('p0.phase.step', 'i64', trace.phase.step);
  out.add('p0.phase.start', 'i64', trace.phase.start, true);
  out.add('p0.phase.end', 'i64', trace.phase.end);
  out.add('p0.phase.depth', 'u8', trace.phase.depth);
}

function writeTables(out: BlockWriter, trace: Trace): void {
  for (const key of ['parent', 'function', 'file', 'line'] as const)
    out.add(`p0.tree.${key}`, 'u32', trace.tree[key]);
  out.add('p0.tree.flags', 'u8', trace.tree.flags);
  out.add('p0.group.leaf', 'u32', trace.group.leaf);
  for (const key of ['role', 'kind', 'flags', 'band'] as const)
    out.add(`p0.group.${key}`, 'u8', trace.group[key]);
  for (const key of ['phase', 'name'] as const) out.add(`p0.group.${key}`, 'u32', trace.group[key]);
  out.add('p0.class.group', 'u32', trace.class.group);
  out.add('p0.class.memory', 'u8', trace.class.memory);
  out.add('p0.class.given', 'i64', trace.class.given);
  out.add('p0.class.tensor', 'i64', trace.class.tensor);
}

/** Resident memory beside the host's level, a sample every hundredth of the run. */
function writeLine(out: BlockWriter, trace: Trace): void {
  const end = trace.time[trace.time.length - 1] ?? 0, host = new Reference(trace, LANES[2]);
  const time: number[] = [], bytes: number[] = [];
  let i = 0;
  for (let sample = 0; sample <= 500; sample++) {
    const t = Math.floor(end * sample / 500);
    while (i < trace.time.length && trace.time[i] <= t) host.apply(i++);
    time.push(t);
    bytes.push(Math.round(host.level * 0.93) + 60 * 2 ** 20);
  }
  out.add('p0.line0.time', 'i64', time, true);
  out.add('p0.line0.bytes', 'i64', bytes);
}

export function writePage(trace: Trace, options: WriteOptions): Uint8Array {
  const out = new BlockWriter();
  const cut = options.windows.map((one) => one.from), sets = snapshots(trace, cut);
  const frames = snapshots(trace, options.keyframes);
  const peaks = LANES.map((_, index) => writeLane(out, trace, options, index));
  writeBins(out, trace, options.bins);
  writeTables(out, trace);
  writeRows(out, trace, options.windows);
  writeSets(out, [...sets, ...frames]);
  writeSteps(out, trace, options.steps ?? 4000);
  writePhases(out, trace);
  writeLine(out, trace);
  out.strings(trace.strings);
  out.json(
      'documents',
      options.documents ??
          {report: {processes: []}, postmortem: null, explain: null, first_vs_steady: null, diff: null});
  let first = 0;
  const end = trace.time[trace.time.length - 1] ?? 0;
  const windows = options.windows.map(({from, to, why}, i) => {
    const one = {
      from: trace.time[from],
      to: trace.time[to - 1],
      why,
      first,
      rows: to - from,
      set: i,
      levels: sets[i].levels
    };
    first += to - from;
    return one;
  });
  out.json('page', {
    version: '0.1.0',
    mode: 'report',
    roles: ROLES,
    kinds: KINDS,
    bands: BANDS,
    processes: [{
      report: 0,
      name: options.name ?? 'train.py pid 4242',
      end,
      events: trace.time.length,
      rows: first,
      lanes: LANES.map((lane, i) => ({...lane, leads: i === 0, peak: peaks[i]})),
      lines: [{memory: 'host', name: 'resident (RSS)'}],
      limits: [
        {memory: 'cuda:0', name: 'memory of the GPU', bytes: options.limit ?? 80 * 2 ** 30},
        {memory: 'host', name: 'limit of the cgroup', bytes: 1.25 * peaks[2].bytes}
      ],
      marks: [
        {t: peaks[0].t, kind: 'peak', text: 'highest level of tensors on cuda:0', finding: null, lane: 0}, {
          t: end * 0.4,
          kind: 'finding',
          text: 'activations are kept for backward that could be computed again',
          finding: 0,
          lane: 0
        },
        {t: end, kind: 'death', text: 'killed by the OOM killer', finding: null, lane: null}
      ],
      windows,
      keyframes: options.keyframes.map(
          (at, i) => ({t: trace.time[Math.max(0, at - 1)], set: sets.length + i, levels: frames[i].levels})),
      paths: trace.paths,
      phases_from: 0
    }]
  });
  return out.bytes();
}
