// Purpose: frames in words, and which blocks a selected frame stands for.

import type {Strings} from '../format/strings';
import {FLAG, type Tables} from './tables';

/** The last part of a path. */
export function baseName(path: string): string { return path.slice(path.lastIndexOf('/') + 1); }

export class Frames {
  constructor(private readonly tables: Tables, private readonly strings: Strings) {}

  name(node: number): string {
    return this.strings.get(this.tables.tree.function [node]) || 'unknown function';
  }

  file(node: number): string { return this.strings.get(this.tables.tree.file[node]); }

  /** "train.py:41", the name of a library, or "". */
  place(node: number): string {
    const file = baseName(this.file(node)), line = this.tables.tree.line[node];
    return line > 0 && file !== '' ? `${file}:${line}` : file;
  }

  full(node: number): string {
    const file = this.file(node), line = this.tables.tree.line[node];
    return line > 0 && file !== '' ? `${file}:${line}` : file;
  }

  label(node: number): string {
    const place = this.place(node);
    return place === '' ? this.name(node) : `${this.name(node)} ${place}`;
  }

  /** The nearest frame of the user's own code at or above a node; 0: none. */
  userLine(node: number): number {
    const {parent, flags} = this.tables.tree;
    let at = node;
    while (at !== 0 && (flags[at] & FLAG.user) === 0) at = parent[at];
    return at;
  }

  same(a: number, b: number): boolean {
    const {function: name, file, line} = this.tables.tree;
    return name[a] === name[b] && file[a] === file[b] && line[a] === line[b];
  }

  /** By node: 1 if its stack has the frame of `selected`. */
  through(selected: number): Uint8Array {
    const {parent} = this.tables.tree, out = new Uint8Array(parent.length);
    for (let i = 1; i < parent.length; i++) out[i] = out[parent[i]] === 1 || this.same(i, selected) ? 1 : 0;
    return out;
  }

  /** A stack from the frame outwards, without the root. */
  stack(node: number): number[] {
    const {parent} = this.tables.tree, out: number[] = [];
    for (let at = node; at !== 0; at = parent[at]) out.push(at);
    return out;
  }
}
