// Purpose: the search: words, re:, and the filters role:, phase:, file:, size>. Says what matches and how much
// it holds.

import type {Strings} from '../format/strings';
import type {Composition} from './composition';
import type {ShownTree} from './shown_tree';
import type {Tables} from './tables';

const UNIT: Record<string, number> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40
};

type Text = (text: string) => boolean;

export interface Query {
  /** Each must match the name of the function or the file of one frame. */
  readonly words: readonly Text[];
  readonly files: readonly Text[];
  readonly roles: readonly string[];
  readonly phases: readonly string[];
  /** Blocks must be larger than this, bytes. */
  readonly size: number;
  /** What cannot be understood; "": nothing. */
  readonly wrong: string;
  readonly empty: boolean;
}

function has(part: string): Text {
  const low = part.toLowerCase();
  return (text) => text.toLowerCase().includes(low);
}

function size(text: string): number {
  const found = /^([\d.]+)\s*([kmgt]?)(?:i?b)?$/i.exec(text);
  return found === null ? NaN : Number(found[1]) * UNIT[found[2].toLowerCase()];
}

/** Reads a query; parts are separated by spaces, and "re:" takes the rest. */
export function parseQuery(text: string): Query {
  const words: Text[] = [], files: Text[] = [], roles: string[] = [], phases: string[] = [];
  let least = 0, wrong = '', rest = text.trim();
  const empty = rest === '';
  while (rest !== '') {
    const re = /^re:(.*)$/.exec(rest);
    if (re !== null) {
      try {
        const pattern = new RegExp(re[1], 'iu');
        words.push((one) => pattern.test(one));
      } catch {
        wrong = `re:${re[1]} is not a regular expression`;
      }
      break;
    }
    const part = /^\S+/.exec(rest)?.[0] ?? rest;
    rest = rest.slice(part.length).trim();
    const filter = /^(role|phase|file):(.*)$/.exec(part);
    if (part.startsWith('size>')) {
      least = size(part.slice(5));
      if (Number.isNaN(least)) wrong = `${part} has no size, as size>10M has`;
    } else if (filter === null) {
      words.push(has(part));
    } else if (filter[1] === 'file') {
      files.push(has(filter[2]));
    } else {
      (filter[1] === 'role' ? roles : phases).push(filter[2].toLowerCase());
    }
  }
  return {words, files, roles, phases, size: least, wrong, empty};
}

export interface Found {
  /** By node of the stack tree: 1 if the frame matches. */
  readonly frame: Uint8Array;
  /** By node: 1 if it or a caller matches (always, if the query has filters alone). */
  readonly path: Uint8Array;
  /** By group: 1 if the filters let it pass. */
  readonly group: Uint8Array;
  readonly frames: number;
}

function matching(strings: Strings, tests: readonly Text[]): Uint8Array[] {
  return tests.map((one) => {
    const out = new Uint8Array(strings.count);
    for (let i = 0; i < out.length; i++) out[i] = one(strings.get(i)) ? 1 : 0;
    return out;
  });
}

function groupsOf(tables: Tables, strings: Strings, query: Query, roles: readonly string[]): Uint8Array {
  const {group, class: table} = tables, out = new Uint8Array(group.leaf.length);
  const large = new Uint8Array(out.length);
  for (let i = 1; i < table.group.length; i++) {
    if (Math.max(table.given[i], table.tensor[i]) > query.size) large[table.group[i]] = 1;
  }
  for (let g = 0; g < out.length; g++) {
    const role = `${roles[group.role[g]] ?? ''} ${tables.bands[group.band[g]]}`.toLowerCase();
    const phase = strings.get(group.phase[g]).toLowerCase();
    const passes = query.roles.every((one) => role.includes(one)) &&
        query.phases.every((one) => phase.includes(one)) && (query.size <= 0 || large[g] === 1);
    out[g] = passes ? 1 : 0;
  }
  return out;
}

export function find(tables: Tables, strings: Strings, query: Query, roles: readonly string[]): Found {
  const {tree} = tables, nodes = tree.parent.length;
  const words = matching(strings, query.words), files = matching(strings, query.files);
  const frame = new Uint8Array(nodes), path = new Uint8Array(nodes);
  const named = words.length + files.length > 0;
  let frames = 0;
  path[0] = named ? 0 : 1;
  for (let i = 1; i < nodes; i++) {
    const name = tree.function [i], file = tree.file[i];
    const hit =
        named && words.every((one) => (one[name] | one[file]) === 1) && files.every((one) => one[file] === 1);
    frame[i] = hit ? 1 : 0;
    frames += frame[i];
    path[i] = hit || path[tree.parent[i]] === 1 ? 1 : 0;
  }
  return {frame, path, group: groupsOf(tables, strings, query, roles), frames};
}

/** Bytes that match at an instant: each block counts once, however many frames of its stack match. */
export function matchedBytes(tables: Tables, found: Found, composition: Composition): number {
  let sum = 0;
  for (let g = 0; g < composition.bytes.length; g++) {
    if (found.group[g] === 1 && found.path[tables.group.leaf[g]] === 1) sum += composition.bytes[g];
  }
  return sum;
}

/** By shown node: 2 if its frame matches, 1 if it has matching blocks, else 0. */
export function shownMatches(tables: Tables, tree: ShownTree, found: Found): Uint8Array {
  const out = new Uint8Array(tree.count);
  for (let g = 0; g < tables.group.leaf.length; g++) {
    if (found.group[g] === 1 && found.path[tables.group.leaf[g]] === 1) out[tree.ofGroup[g]] = 1;
  }
  for (let i = tree.count - 1; i > 0; i--) {
    if (out[i] > 0 && out[tree.parent[i]] === 0) out[tree.parent[i]] = 1;
    if (out[i] > 0 && found.frame[tree.frame[i]] === 1) out[i] = 2;
  }
  return out;
}
