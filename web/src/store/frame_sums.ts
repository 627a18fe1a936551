// Purpose: bytes below each node of the shown tree at an instant, by band, and the span of each node in the
// graph.

import type {Composition} from './composition';
import type {ShownTree} from './shown_tree';
import {GROUP, type Tables} from './tables';

export class FrameSums {
  readonly total: Float64Array;
  /** Bytes by band, at [node * bands + band]. */
  readonly bands: Float64Array;
  /** Where each node starts, in bytes from the left. */
  readonly start: Float64Array;
  readonly largest: Uint8Array;

  private readonly next: Float64Array;

  /** The arrays are filled anew for each instant, so that a drag makes no garbage. */
  constructor(readonly tree: ShownTree, private readonly tables: Tables) {
    const bands = tables.bands.length;
    this.total = new Float64Array(tree.count);
    this.bands = new Float64Array(tree.count * bands);
    this.start = new Float64Array(tree.count);
    this.largest = new Uint8Array(tree.count);
    this.next = new Float64Array(tree.count);
  }

  fill(composition: Composition): void {
    this.total.fill(0);
    this.bands.fill(0);
    this.next.fill(0);
    this.scatter(composition);
    this.sumUp();
    this.layOut();
  }

  private scatter(composition: Composition): void {
    const {group, bands} = this.tables, {bytes, rest, restBand} = composition;
    for (let g = 0; g < bytes.length; g++) {
      if (bytes[g] === 0) continue;
      const sampled = (group.flags[g] & GROUP.sampled) !== 0;
      this.put(this.tree.ofGroup[g], sampled && restBand >= 0 ? restBand : group.band[g], bytes[g]);
    }
    if (rest > 0) this.put(this.tree.rest, restBand >= 0 ? restBand : bands.length - 1, rest);
  }

  private put(node: number, band: number, bytes: number): void {
    this.total[node] += bytes;
    this.bands[node * this.tables.bands.length + band] += bytes;
  }

  private sumUp(): void {
    const {parent, count} = this.tree, bands = this.tables.bands.length;
    for (let i = count - 1; i > 0; i--) {
      if (this.total[i] === 0) continue;
      const to = parent[i];
      this.total[to] += this.total[i];
      let best = 0;
      for (let b = 0; b < bands; b++) {
        const held = this.bands[i * bands + b];
        this.bands[to * bands + b] += held;
        if (held > this.bands[i * bands + best]) best = b;
      }
      this.largest[i] = best;
    }
  }

  /**
   * Children stand side by side in the order of their first sight, so they keep their places while the instant
   * moves.
   */
  private layOut(): void {
    const {parent, count} = this.tree, {next} = this;
    for (let i = 1; i < count; i++) {
      if (this.total[i] === 0) continue;
      const over = parent[i];
      this.start[i] = this.start[over] + next[over];
      next[over] += this.total[i];
    }
  }
}
