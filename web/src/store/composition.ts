// Purpose: what a lane is made of at an instant: bytes and blocks by group and by band, and what has no group.

import type {LaneColumns} from './columns';
import {complete} from './lane_rows';
import type {Instant, Replay} from './replay';
import {GROUP, type Tables} from './tables';

export interface Composition {
  readonly instant: Instant;
  /** The lane's level then, without hidden bands. */
  readonly level: number;
  readonly bytes: Float64Array;
  readonly blocks: Float64Array;
  /** By band, hidden ones and the remainder included; without the hidden ones they sum to the level. */
  readonly bands: Float64Array;
  /**
   * What completes the groups to the level: small blocks, or memory that the allocator caches. May be below 0.
   */
  readonly rest: number;
  /** The band of the rest; -1: this lane has none. */
  readonly restBand: number;
  /** Bytes of sampled groups: estimates, not counted in any band but the remainder. */
  readonly estimated: number;
}

function levelAt(tables: Tables, columns: LaneColumns, lane: number, instant: Instant): number {
  if (instant.keyframe >= 0) return tables.info.keyframes[instant.keyframe].levels[lane];
  return columns.rows.after(instant.window, instant.row);
}

/** `columns` are those of the lane with all its bands. Null if the data knows no live blocks. */
export function compose(
    tables: Tables, columns: LaneColumns, lane: number, replay: Replay, t: number, hidden = 0): Composition|null {
  const instant = replay.moveTo(t);
  if (instant === null) return null;
  const {rules} = columns, {class: table, group} = tables, {counts} = replay;
  const groups = group.leaf.length, bytes = new Float64Array(groups), blocks = new Float64Array(groups);
  const bands = new Float64Array(tables.bands.length);
  const isShown = (band: number) => band < 0 || ((hidden >> band) & 1) === 0;
  let sum = 0, estimated = 0;
  for (let i = 1; i < counts.length; i++) {
    if (counts[i] === 0) continue;
    const of = table.group[i];
    if (rules.small && table.memory[i] === 0 && (group.flags[of] & GROUP.sampled) !== 0) {
      if (!isShown(rules.rest)) continue;
      bytes[of] += counts[i] * table.given[i];
      blocks[of] += counts[i];
      estimated += counts[i] * table.given[i];
      continue;
    }
    if (rules.inBand[i] === 0) continue;
    const held = counts[i] * rules.inBand[i];
    bands[rules.band[i]] += held;
    sum += held;
    if (!isShown(rules.band[i])) continue;
    bytes[of] += held;
    blocks[of] += counts[i];
  }
  const all = levelAt(tables, columns, lane, instant);
  complete(rules, all, bands);
  const level = bands.reduce((left, held, band) => (isShown(band) ? left : left - held), all);
  return {
    instant,
    level,
    bytes,
    blocks,
    bands,
    rest: rules.rest < 0 || !isShown(rules.rest) ? 0 : all - sum - estimated,
    restBand: rules.rest,
    estimated
  };
}
