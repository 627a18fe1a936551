// Purpose: the columns of one process, with every index checked once, so that the views need no checks.

import type {Block} from '../format/block';
import {DamagedPage} from '../format/damage';
import type {PageInfo, ProcessInfo} from '../format/page';

/** In row.ref: the death of a block that is older than the window. */
export const OLDER = 0xffffffff;

export const FLAG = {
  python: 1,
  user: 2,
  hidden: 4
} as const;

export const GROUP = {
  tensor: 1,
  sampled: 2
} as const;

export interface Tree {
  readonly parent: Uint32Array;
  readonly function: Uint32Array;
  readonly file: Uint32Array;
  readonly line: Uint32Array;
  readonly flags: Uint8Array;
}

export interface Groups {
  readonly leaf: Uint32Array;
  readonly role: Uint8Array;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
  readonly band: Uint8Array;
  readonly phase: Uint32Array;
  readonly name: Uint32Array;
}

export interface Classes {
  readonly group: Uint32Array;
  readonly memory: Uint8Array;
  readonly given: Float64Array;
  readonly tensor: Float64Array;
}

export interface Rows {
  readonly time: Float64Array;
  readonly class: Uint32Array;
  readonly ref: Uint32Array;
  readonly small: Float64Array;
}

export interface Sets {
  readonly start: Uint32Array;
  readonly class: Uint32Array;
  readonly count: Uint32Array;
}

export interface Bins {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly births: Uint32Array;
  readonly events: Uint32Array;
}

export interface LaneBins {
  readonly max: Float64Array;
  readonly at: Float64Array;
  readonly min: Float64Array;
  readonly last: Float64Array;
  /** Band b of bin i at [b * bins + i]. */
  readonly bands: Float64Array;
}

export interface Steps {
  readonly number: Float64Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** The highest level of each lane. */
  readonly highest: readonly Float64Array[];
}

export interface Phases {
  readonly path: Uint32Array;
  readonly step: Float64Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly depth: Uint8Array;
}

export interface MeasuredLine {
  readonly time: Float64Array;
  readonly bytes: Float64Array;
}

export interface Tables {
  readonly info: ProcessInfo;
  readonly bands: readonly string[];
  readonly tree: Tree;
  readonly group: Groups;
  readonly class: Classes;
  readonly row: Rows;
  readonly set: Sets;
  readonly bin: Bins;
  readonly lanes: readonly LaneBins[];
  readonly step: Steps;
  readonly phase: Phases;
  readonly lines: readonly MeasuredLine[];
}

function same(what: string, ...columns: ArrayLike<number>[]): void {
  if (columns.some((one) => one.length !== columns[0].length)) {
    throw new DamagedPage(`the columns of ${what} differ in length`);
  }
}

function below(what: string, column: ArrayLike<number>, end: number): void {
  for (let i = 0; i < column.length; i++) {
    if (!(column[i] < end)) throw new DamagedPage(`${what} points outside its table`);
  }
}

function ascending(what: string, column: ArrayLike<number>): void {
  for (let i = 1; i < column.length; i++) {
    if (column[i] < column[i - 1]) throw new DamagedPage(`${what} is out of order`);
  }
}

function readTree(block: Block, p: string): Tree {
  const tree = {
    parent: block.u32(`${p}tree.parent`),
    function: block.u32(`${p}tree.function`),
    file: block.u32(`${p}tree.file`),
    line: block.u32(`${p}tree.line`),
    flags: block.u8(`${p}tree.flags`)
  };
  same('the stack tree', tree.parent, tree.function, tree.file, tree.line, tree.flags);
  if (tree.parent.length === 0) throw new DamagedPage('the stack tree has no root');
  for (let i = 1; i < tree.parent.length; i++) {
    if (tree.parent[i] >= i) throw new DamagedPage('the stack tree is out of order');
  }
  return tree;
}

function readGroups(block: Block, p: string, nodes: number, bands: number): Groups {
  const group = {
    leaf: block.u32(`${p}group.leaf`),
    role: block.u8(`${p}group.role`),
    kind: block.u8(`${p}group.kind`),
    flags: block.u8(`${p}group.flags`),
    band: block.u8(`${p}group.band`),
    phase: block.u32(`${p}group.phase`),
    name: block.u32(`${p}group.name`)
  };
  same('groups', group.leaf, group.role, group.kind, group.flags, group.band, group.phase, group.name);
  below('a group\'s stack', group.leaf, nodes);
  below('a group\'s band', group.band, bands);
  return group;
}

function readClasses(block: Block, p: string, groups: number): Classes {
  const table = {
    group: block.u32(`${p}class.group`),
    memory: block.u8(`${p}class.memory`),
    given: block.i64(`${p}class.given`),
    tensor: block.i64(`${p}class.tensor`)
  };
  same('classes', table.group, table.memory, table.given, table.tensor);
  below('a class\'s group', table.group.subarray(1), groups);
  return table;
}

function readRows(block: Block, p: string, classes: number, info: ProcessInfo): Rows {
  const row = {
    time: block.i64(`${p}row.time`),
    class: block.u32(`${p}row.class`),
    ref: block.u32(`${p}row.ref`),
    small: block.i64(`${p}row.small`)
  };
  same('rows', row.time, row.class, row.ref, row.small);
  ascending('the time of rows', row.time);
  below('a row\'s class', row.class, Math.max(1, classes));
  let next = 0;
  for (const one of info.windows) {
    if (one.first !== next || one.rows < 0 || one.from > one.to || one.levels.length !== info.lanes.length) {
      throw new DamagedPage('a window does not fit its rows');
    }
    next += one.rows;
  }
  if (next > row.time.length) throw new DamagedPage('a window does not fit its rows');
  return row;
}

function readSets(block: Block, p: string, classes: number, info: ProcessInfo): Sets {
  const set = {
    start: block.u32(`${p}set.start`),
    class: block.u32(`${p}set.class`),
    count: block.u32(`${p}set.count`)
  };
  same('live sets', set.class, set.count);
  ascending('the start of live sets', set.start);
  if (set.start.length === 0 || set.start[set.start.length - 1] > set.class.length) {
    throw new DamagedPage('the live sets are cut off');
  }
  below('a live set\'s class', set.class, Math.max(1, classes));
  below(
      'a window\'s live set', [...info.windows, ...info.keyframes].map((one) => one.set), set.start.length - 1);
  return set;
}

function readBins(block: Block, p: string): Bins {
  const bin = {
    start: block.i64(`${p}bin.start`),
    end: block.i64(`${p}bin.end`),
    births: block.u32(`${p}bin.births`),
    events: block.u32(`${p}bin.events`)
  };
  same('bins', bin.start, bin.end, bin.births, bin.events);
  ascending('the start of bins', bin.start);
  ascending('the end of bins', bin.end);
  return bin;
}

function readLane(block: Block, p: string, index: number, bins: number, bands: number): LaneBins {
  const at = `${p}lane${index}.`;
  const lane = {
    max: block.i64(`${at}max`),
    at: block.i64(`${at}at`),
    min: block.i64(`${at}min`),
    last: block.i64(`${at}last`),
    bands: block.i64(`${at}bands`)
  };
  same(`lane ${index}`, lane.max, lane.at, lane.min, lane.last);
  if (lane.max.length !== bins || lane.bands.length !== bins * bands) {
    throw new DamagedPage(`lane ${index} does not fit the bins`);
  }
  return lane;
}

function readSteps(block: Block, p: string, lanes: number): Steps {
  const highest: Float64Array[] = [];
  for (let i = 0; i < lanes; i++) highest.push(block.i64(`${p}step.lane${i}`));
  const step = {
    number: block.i64(`${p}step.number`),
    start: block.i64(`${p}step.start`),
    end: block.i64(`${p}step.end`),
    highest
  };
  same('steps', step.number, step.start, step.end, ...highest);
  ascending('the start of steps', step.start);
  return step;
}

function readPhases(block: Block, p: string, paths: number): Phases {
  const phase = {
    path: block.u32(`${p}phase.path`),
    step: block.i64(`${p}phase.step`),
    start: block.i64(`${p}phase.start`),
    end: block.i64(`${p}phase.end`),
    depth: block.u8(`${p}phase.depth`)
  };
  same('phases', phase.path, phase.step, phase.start, phase.end, phase.depth);
  ascending('the start of phases', phase.start);
  below('a phase\'s path', phase.path, paths);
  return phase;
}

function readLine(block: Block, p: string, index: number): MeasuredLine {
  const line = {time: block.i64(`${p}line${index}.time`), bytes: block.i64(`${p}line${index}.bytes`)};
  same('a measured line', line.time, line.bytes);
  ascending('the time of a measured line', line.time);
  return line;
}

/** Throws DamagedPage if a column is missing or an index points outside. */
export function readTables(block: Block, page: PageInfo, process: number): Tables {
  const info = page.processes[process], p = `p${process}.`, bands = page.bands.length;
  const tree = readTree(block, p);
  const group = readGroups(block, p, tree.parent.length, bands);
  const table = readClasses(block, p, group.leaf.length);
  const bin = readBins(block, p);
  return {
    info,
    bands: page.bands,
    tree,
    group,
    class: table,
    row: readRows(block, p, table.group.length, info),
    set: readSets(block, p, table.group.length, info),
    bin,
    lanes: info.lanes.map((_, i) => readLane(block, p, i, bin.start.length, bands)),
    step: readSteps(block, p, info.lanes.length),
    phase: readPhases(block, p, info.paths.length),
    lines: info.lines.map((_, i) => readLine(block, p, i))
  };
}
