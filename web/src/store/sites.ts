// Purpose: blocks by site or by line of the user's code: which groups belong together, and what each holds.

import type {Composition} from './composition';
import {FrameIndex} from './frame_index';
import type {Frames} from './frames';
import {isHidden} from './shown_tree';
import {GROUP, type Tables} from './tables';

export interface SiteKeys {
  /**
   * By group: the node that stands for its site; 0: no stack. Sites of the same function, file and line are
   * one.
   */
  readonly ofGroup: Uint32Array;
}

/** The innermost frame that is shown; the leaf itself if none is. */
function shownLeaf(tables: Tables, leaf: number): number {
  let node = leaf;
  while (node !== 0 && isHidden(tables, node)) node = tables.tree.parent[node];
  return node === 0 ? leaf : node;
}

/** By site, a library function that two lines of the user's code call is two sites. */
export function siteKeys(tables: Tables, frames: Frames, by: 'line'|'site'): SiteKeys {
  const {tree, group} = tables, first: number[] = [];
  const lines = new FrameIndex(group.leaf.length), sites = new FrameIndex(group.leaf.length);
  const ofGroup = Uint32Array.from(group.leaf, (leaf) => {
    const line = frames.userLine(leaf), node = by === 'line' && line !== 0 ? line : shownLeaf(tables, leaf);
    const from = by === 'line' ? 0 : lines.of(tree.function [line], tree.file[line], tree.line[line], 0);
    const at = sites.of(tree.function [node], tree.file[node], tree.line[node], from);
    if (at === first.length) first.push(node);
    return first[at];
  });
  return {ofGroup};
}

export interface Site {
  readonly band: number;
  /** 0: no stack. */
  readonly node: number;
  bytes: number;
  blocks: number;
  /** What completes the sum to the level: it has no blocks of its own. */
  readonly rest: boolean;
}

/** What each site holds in each band, largest first, the rest included. */
export function sitesAt(tables: Tables, keys: SiteKeys, composition: Composition): Site[] {
  const {group} = tables, {bytes, blocks, rest, restBand} = composition;
  const known = new Map<number, Site>();
  for (let g = 0; g < bytes.length; g++) {
    if (bytes[g] === 0) continue;
    const sampled = (group.flags[g] & GROUP.sampled) !== 0 && restBand >= 0;
    const band = sampled ? restBand : group.band[g], key = keys.ofGroup[g] * 256 + band;
    let site = known.get(key);
    if (site === undefined) {
      site = {band, node: keys.ofGroup[g], bytes: 0, blocks: 0, rest: false};
      known.set(key, site);
    }
    site.bytes += bytes[g];
    site.blocks += blocks[g];
  }
  const out = [...known.values()];
  if (rest > 0 && restBand >= 0) out.push({band: restBand, node: 0, bytes: rest, blocks: 0, rest: true});
  return out.sort((a, b) => b.bytes - a.bytes || a.node - b.node || a.band - b.band);
}

/** The words for what no group stands for, in a lane of this memory. */
export function restName(memory: string): string {
  return memory === 'host' ? 'small blocks, not recorded one by one' : 'cached by the allocator, not in use';
}
