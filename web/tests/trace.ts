// Purpose: a made-up training run: stacks, groups, classes and events, from which tests make pages.

import {Random} from './random';

export const BANDS = [
  'parameter', 'gradient', 'optimizer state', 'activation', 'temporary', 'communication', 'input', 'runtime',
  'context', 'cache', 'unattributed'
];
export const ROLES = ['unknown', 'parameter', 'gradient', 'optimizer', 'activation', 'temporary', 'input'];
export const KINDS = ['none', 'heap', 'mapping', 'segment'];
const OPAQUE = {
  python: 1,
  user: 2,
  hidden: 4
};

/**
 * One event: a class's birth (`birth` -1) or the death of the block born at event `birth`; class 0 is a tick.
 */
export interface Trace {
  strings: string[];
  tree: {parent: number[]; function: number[]; file: number[]; line: number[]; flags: number[]};
  group: {
    leaf: number[]; role: number[]; kind: number[]; flags: number[]; band: number[]; phase: number[];
    name: number[]
  };
  class: {group: number[]; memory: number[]; given: number[]; tensor: number[]};
  time: number[];
  event: number[];
  birth: number[];
  small: number[];
  paths: string[][];
  phase: {path: number[]; step: number[]; start: number[]; end: number[]; depth: number[]};
  step: {number: number[]; start: number[]; end: number[]};
}

export class TraceMaker {
  readonly trace: Trace = {
    strings: [''],
    tree: {parent: [0], function: [0], file: [0], line: [0], flags: [0]},
    group: {leaf: [], role: [], kind: [], flags: [], band: [], phase: [], name: []},
    class: {group: [0], memory: [0], given: [0], tensor: [0]},
    time: [],
    event: [],
    birth: [],
    small: [],
    paths: [],
    phase: {path: [], step: [], start: [], end: [], depth: []},
    step: {number: [], start: [], end: []}
  };
  now = 0;
  private readonly index = new Map<string, number>([['', 0]]);
  private owed = 0;

  constructor(readonly random: Random) {}

  string(text: string): number {
    let at = this.index.get(text);
    if (at === undefined) {
      at = this.trace.strings.length;
      this.trace.strings.push(text);
      this.index.set(text, at);
    }
    return at;
  }

  node(parent: number, name: string, file: string, line: number, flags: number): number {
    const {tree} = this.trace;
    tree.parent.push(parent);
    tree.function.push(this.string(name));
    tree.file.push(this.string(file));
    tree.line.push(line);
    tree.flags.push(flags);
    return tree.parent.length - 1;
  }

  /** A group; `sampled` groups are estimates and in no level. */
  group(
      leaf: number, role: string, band: string, phase: string,
      options: {tensor?: boolean; sampled?: boolean; kind?: number} = {}): number {
    const {group} = this.trace;
    group.leaf.push(leaf);
    group.role.push(ROLES.indexOf(role));
    group.kind.push(options.kind ?? (options.tensor === true ? 0 : 1));
    group.flags.push((options.tensor === true ? 1 : 0) | (options.sampled === true ? 2 : 0));
    group.band.push(BANDS.indexOf(band));
    group.phase.push(this.string(phase));
    group.name.push(0);
    return group.leaf.length - 1;
  }

  class
  (group: number, memory: number, given: number, tensor: number): number {
    const table = this.trace.class;
    table.group.push(group);
    table.memory.push(memory);
    table.given.push(given);
    table.tensor.push(tensor);
    return table.group.length - 1;
  }

  /** Changes the host's level by small blocks; the next event carries it. */
  drift(bytes: number): void { this.owed += bytes; }

  private put(kind: number, birth: number): number {
    const {trace} = this;
    trace.time.push(this.now);
    trace.event.push(kind);
    trace.birth.push(birth);
    trace.small.push(this.owed);
    this.owed = 0;
    return trace.time.length - 1;
  }

  birth(kind: number, wait: number): number {
    this.now += this.random.wait(wait);
    return this.put(kind, -1);
  }

  death(born: number, wait: number): void {
    this.now += this.random.wait(wait);
    this.put(this.trace.event[born], born);
  }

  tick(wait: number): void {
    this.now += this.random.wait(wait);
    this.put(0, -1);
  }

  phase(path: string[], step: number, start: number): void {
    const {trace} = this;
    let at = trace.paths.findIndex((one) => one.join() === path.join());
    if (at < 0) at = trace.paths.push(path) - 1;
    trace.phase.path.push(at);
    trace.phase.step.push(step);
    trace.phase.start.push(start);
    trace.phase.end.push(this.now);
    trace.phase.depth.push(path.length - 1);
  }
}

export const FRAME = OPAQUE;
