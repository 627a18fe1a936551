// Purpose: what a block of each class adds to the level and to the bands of one lane.

import {GROUP, type Tables} from './tables';

export class LaneRules {
  /** By class: bytes in the level; the band, and the bytes in it. */
  readonly level: Float64Array;
  readonly band: Uint8Array;
  readonly inBand: Float64Array;
  /** True if row.small moves this lane's level. */
  readonly small: boolean;
  /** The band that completes the sum to the level; -1: none. */
  readonly rest: number;

  constructor(tables: Tables, lane: number) {
    const {memory, measure} = tables.info.lanes[lane];
    const {group, class: table} = tables, classes = table.group.length;
    const host = memory === 'host', tensors = measure === 'tensor';
    const number = host ? 0 : 1 + Number(memory.replace(/^\D+/, ''));
    const cache = tables.bands.indexOf('cache');
    this.level = new Float64Array(classes);
    this.band = new Uint8Array(classes);
    this.inBand = new Float64Array(classes);
    this.small = host && !tensors;
    this.rest = tensors ? -1 : host ? tables.bands.indexOf('unattributed') : cache;
    for (let i = 1; i < classes; i++) {
      if (table.memory[i] !== number) continue;
      const of = table.group[i], flags = group.flags[of], band = group.band[of];
      const given = (flags & GROUP.sampled) !== 0 ? 0 : table.given[i];
      this.band[i] = band;
      this.level[i] = tensors ? table.tensor[i] : given;
      if (tensors || (!host && (flags & GROUP.tensor) !== 0))
        this.inBand[i] = table.tensor[i];
      else
        this.inBand[i] = !host && band === cache ? 0 : given;
    }
  }
}
