// Purpose: sums the blocks alive at one instant by the user's line, by site, by role or by phase of birth.

import {bandOf, useOf} from '../wording/labels';

import {Frame, Process, Row} from './document';
import {allocatorOf, framesOf, namesOf, ownerOf, SiteNames} from './sites';

export type HolderKey = 'line'|'site'|'role'|'phase';

export interface Holder {
  use: string;
  band: string;
  line: string;      // "" if it is not known
  allocator: string; // the largest
  allocators: number;
  phase: string|null; // null if the blocks are of several phases
  firstStep: number|null;
  lastStep: number|null;
  bytes: number;
  blocks: number;
  sampled: boolean;
  error: number; // half of the interval that holds the truth in 95 of 100 cases; 0: exact
  rest: boolean;     // completes the sum
  reserved: boolean; // address space that was never touched: no memory
  largest: Row;
  rows: Row[];
}

/** Names sites once for each process. */
export class SiteNamer {
  private readonly names = new Map<string, SiteNames>();
  private readonly scripts: readonly string[];

  /** `atDeath`: in a load that did not end, blocks are named by what allocated them: "model", "state dict". */
  constructor(private readonly process: Process, private readonly atDeath = false) {
    this.scripts = scriptsOf(process);
  }

  framesOf(row: {site: Row['site']}): readonly Frame[] { return framesOf(this.process, row.site); }

  namesOf(row: {site: Row['site']}): SiteNames {
    const id = row.site?.id ?? '';
    let found = this.names.get(id);
    if (found === undefined || row.site?.frames !== undefined) {
      found = namesOf(this.framesOf(row), this.scripts);
      this.names.set(id, found);
    }
    return found;
  }

  /** Returns what the blocks of a row are, as "optimizer state" or "mapping", and the band of their colour. */
  useOf(row: Row, ofTensors: boolean): {use: string; band: string} {
    if (isRest(row) && (row.blocks === 0 || row.kind === null)) return {use: 'small blocks', band: 'unattributed'};
    const owner = this.mayHaveOwner(row, ofTensors) ? ownerOf(this.framesOf(row)) : '';
    if (owner === 'model') return {use: owner, band: bandOf({role: 'parameter'})};
    if (owner !== '') return {use: owner, band: bandOf({role: 'staging'})};
    return {use: useOf(row, ofTensors), band: bandOf(row, ofTensors)};
  }

  private mayHaveOwner(row: Row, ofTensors: boolean): boolean {
    if (row.born_phase !== 'load') return false;
    return row.role === 'unknown' ? ofTensors :
                                    this.atDeath && (row.role === 'staging' || row.role === 'parameter');
  }
}

/**
 * True for rows that complete a sum: small blocks that were only counted, and sites that the document cuts
 * off.
 */
export function isRest(row: Row): boolean { return row.site === null && row.born_phase === null; }

/** Returns the Python files among the arguments: the first one is the program. */
export function scriptsOf(process: Pick<Process, 'argv'>|null): readonly string[] {
  return process?.argv.filter((argument) => argument.endsWith('.py')).slice(0, 1) ?? [];
}

function keyOf(by: HolderKey, holder: Holder, row: Row): string {
  switch (by) {
    case 'line':
      return [
        holder.use, holder.line === '' ? 'site ' + holder.allocator : holder.line, row.born_phase, row.how
      ].join('\n');
    case 'site':
      return [holder.use, row.site?.id, row.born_phase, row.how].join('\n');
    case 'role':
      return holder.use;
    case 'phase':
      return String(row.born_phase);
  }
}

function holderOf(namer: SiteNamer, row: Row, ofTensors: boolean): Holder {
  const names = namer.namesOf(row);
  return {
    ...namer.useOf(row, ofTensors),
    line: names.own,
    allocator: allocatorOf(names),
    allocators: 1,
    phase: row.born_phase,
    firstStep: row.born_step,
    lastStep: row.born_step,
    bytes: row.bytes,
    blocks: row.blocks,
    sampled: row.how === 'sampled',
    error: row.error ?? 0,
    rest: isRest(row),
    reserved: false,
    largest: row,
    rows: [row],
  };
}

/** Returns the part of a row that was reserved and never touched as a holder of its own, after the part in use. */
function partsOf(namer: SiteNamer, row: Row, ofTensors: boolean): Holder[] {
  const untouched = row.untouched ?? 0, one = holderOf(namer, row, ofTensors);
  if (untouched === 0) return [one];
  const reserved = {...one, use: 'reserved, never touched', band: 'reserved', bytes: untouched, reserved: true};
  one.bytes -= untouched;
  return one.bytes === 0 ? [reserved] : [one, {...reserved, blocks: 0}];
}

/** Returns the blocks of `rows` in groups, the largest first. They add up to the rows' sum. */
export function holders(namer: SiteNamer, rows: readonly Row[], by: HolderKey, ofTensors: boolean): Holder[] {
  const sums = new Map<string, Holder>();
  const allocators = new Map<Holder, Set<string>>();
  const parts = rows.flatMap((row) => partsOf(namer, row, ofTensors).map((one) => ({row, one})));
  for (const {row, one} of parts) {
    const key = keyOf(by, one, row);
    const sum = sums.get(key);
    if (sum === undefined) {
      sums.set(key, one);
      allocators.set(one, new Set([one.allocator]));
      continue;
    }
    add(sum, one, row);
    const names = allocators.get(sum) as Set<string>;
    sum.allocators = names.add(one.allocator).size;
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}

function add(sum: Holder, one: Holder, row: Row): void {
  if (one.bytes > sum.largest.bytes) {
    sum.largest = row;
    sum.allocator = one.allocator;
    sum.band = one.band;
  }
  sum.bytes += one.bytes;
  sum.blocks += one.blocks;
  sum.sampled = sum.sampled || one.sampled;
  sum.error = Math.hypot(sum.error, one.error); // the errors of different stacks are independent
  sum.rest = sum.rest && one.rest;
  sum.reserved = sum.reserved && one.reserved;
  if (sum.phase !== one.phase) sum.phase = null;
  if (sum.line !== one.line) sum.line = '';
  sum.firstStep = least(sum.firstStep, row.born_step);
  sum.lastStep = sum.lastStep === null ? row.born_step : Math.max(sum.lastStep, row.born_step ?? 0);
  sum.rows.push(row);
}

function least(a: number|null, b: number|null): number|null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
