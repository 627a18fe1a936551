// Purpose: the stack tree as the flame graph shows it: hidden frames folded, equal siblings merged, either way
// up.

import {FrameIndex} from './frame_index';
import {FLAG, type Tables} from './tables';

export interface ShownTree {
  readonly count: number;
  /** parent < child, as in the stack tree; node 0 is the root. */
  readonly parent: Uint32Array;
  readonly depth: Uint16Array;
  /** The node of the stack tree that each node was first made of; 0 for the root and the two below. */
  readonly frame: Uint32Array;
  /** Where the bytes of each group go. */
  readonly ofGroup: Uint32Array;
  /** The node of blocks without a stack, and the node of what has no group. */
  readonly bare: number;
  readonly rest: number;
  readonly maxDepth: number;
}

/** Frames of the interpreter, the dispatcher and allocators; the leaf of a stack is always shown. */
export function isHidden(tables: Tables, node: number): boolean {
  return (tables.tree.flags[node] & FLAG.hidden) !== 0;
}

class Growing {
  readonly parent: number[] = [0];
  readonly frame: number[] = [0];
  readonly depth: number[] = [0];
  private readonly index: FrameIndex;
  private readonly nodes: number[] = [];

  constructor(private readonly tables: Tables) { this.index = new FrameIndex(tables.tree.parent.length); }

  child(parent: number, frame: number): number {
    const {function: name, file, line} = this.tables.tree;
    const at = this.index.of(parent, name[frame], file[frame], line[frame]);
    if (at === this.nodes.length) this.nodes.push(this.add(parent, frame));
    return this.nodes[at];
  }

  add(parent: number, frame: number): number {
    this.parent.push(parent);
    this.frame.push(frame);
    this.depth.push(this.depth[parent] + 1);
    return this.parent.length - 1;
  }

  finish(ofGroup: Uint32Array): ShownTree {
    const bare = this.add(0, 0), rest = this.add(0, 0);
    for (let g = 0; g < ofGroup.length; g++) {
      if (ofGroup[g] === 0) ofGroup[g] = bare;
    }
    let maxDepth = 1;
    for (const depth of this.depth) maxDepth = Math.max(maxDepth, depth);
    return {
      count: this.parent.length,
      parent: Uint32Array.from(this.parent),
      depth: Uint16Array.from(this.depth),
      frame: Uint32Array.from(this.frame),
      ofGroup,
      bare,
      rest,
      maxDepth
    };
  }
}

/** The program's entry on top. */
export function fromCallers(tables: Tables, allFrames: boolean): ShownTree {
  const {parent} = tables.tree, {leaf} = tables.group;
  const grown = new Growing(tables), node = new Uint32Array(parent.length);
  for (let i = 1; i < parent.length; i++) {
    node[i] = !allFrames && isHidden(tables, i) ? node[parent[i]] : grown.child(node[parent[i]], i);
  }
  return grown.finish(Uint32Array.from(leaf, (one) => node[one]));
}

/** The allocation sites on top, their callers below. */
export function fromSites(tables: Tables, allFrames: boolean): ShownTree {
  const {parent} = tables.tree, {leaf} = tables.group;
  const grown = new Growing(tables), node = new Uint32Array(leaf.length);
  for (let g = 0; g < leaf.length; g++) {
    let at = 0;
    for (let i = leaf[g]; i !== 0; i = parent[i]) {
      if (allFrames || !isHidden(tables, i)) at = grown.child(at, i);
    }
    node[g] = at;
  }
  return grown.finish(node);
}

/** How many frames of stacks are folded when hidden frames are not shown. */
export function countHidden(tables: Tables): number {
  let count = 0;
  for (let i = 1; i < tables.tree.parent.length; i++) count += isHidden(tables, i) ? 1 : 0;
  return count;
}
