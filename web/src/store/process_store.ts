// Purpose: what the views ask of one process, each answer kept until the question changes.

import type {PageData} from '../format/decode';
import type {LaneInfo, ProcessInfo} from '../format/page';
import {LaneColumns} from './columns';
import {compose, type Composition} from './composition';
import {FrameSums} from './frame_sums';
import {Frames} from './frames';
import {LineColumns} from './line_columns';
import {Replay} from './replay';
import {find, type Found, parseQuery, type Query} from './search';
import {SelectionRows} from './selection_rows';
import {type SiteKeys, siteKeys} from './sites';
import {countHidden, fromCallers, fromSites, type ShownTree} from './shown_tree';
import {readTables, type Tables} from './tables';
import type {ViewState} from '../state/view_state';

/** Keeps the last few answers of a question by its key. */
class Last<T> {
  private readonly kept = new Map<string, T>();

  constructor(private readonly most: number) {}

  has(key: string): boolean { return this.kept.has(key); }

  get(key: string, make: () => T): T {
    let value = this.kept.get(key);
    if (value === undefined) {
      value = make();
      const oldest = this.kept.size >= this.most ? this.kept.keys().next().value : undefined;
      if (oldest !== undefined) this.kept.delete(oldest);
      this.kept.set(key, value);
    }
    return value;
  }
}

/** Milliseconds of each frame for what is being prepared, and rows between two looks at the clock. */
const SLICE = 4, ROWS = 30000;

export class ProcessStore {
  readonly tables: Tables;
  readonly info: ProcessInfo;
  readonly frames: Frames;
  readonly lines: readonly LineColumns[];
  readonly hiddenFrames: number;
  private readonly replay: Replay;
  private readonly used: (number|undefined)[] = [];
  private readonly whole = new Map<number, LaneColumns>();
  private readonly partial: Last<LaneColumns>;
  private pending: {readonly key: string; readonly columns: LaneColumns}|null = null;
  private readonly compositions = new Last<Composition|null>(2);
  private readonly trees = new Last<ShownTree>(4);
  private readonly sums = new Map<ShownTree, FrameSums>();
  private summed = '';
  private readonly found = new Last<Found>(2);
  private readonly marked = new Last<Uint8Array>(2);
  private readonly keys = new Last<SiteKeys>(2);
  private readonly selections = new Last<SelectionRows>(4);

  constructor(private readonly page: PageData, process: number) {
    this.tables = readTables(page.block, page.info, process);
    this.info = this.tables.info;
    this.frames = new Frames(this.tables, page.strings);
    this.lines = this.tables.lines.map((one) => new LineColumns(one));
    this.hiddenFrames = countHidden(this.tables);
    this.replay = new Replay(this.tables);
    this.partial = new Last(Math.max(4, this.info.lanes.length));
  }

  lane(index: number): LaneInfo { return this.info.lanes[index]; }

  /** The bands that a lane has anywhere, one bit for each. */
  bandsOf(lane: number): number {
    let bits = this.used[lane];
    if (bits === undefined) {
      const {bands} = this.tables.lanes[lane], bins = this.tables.bin.start.length;
      bits = 0;
      for (let i = 0; i < bands.length; i++) {
        if (bands[i] > 0) bits |= 1 << Math.floor(i / bins);
      }
      this.used[lane] = bits;
    }
    return bits;
  }

  /** The bands that are hidden until the reader shows them: address space that was never touched is not memory. */
  get hiddenAtFirst(): number {
    const band = this.tables.bands.indexOf('reserved');
    return band < 0 || !this.info.lanes.some((_, i) => (this.bandsOf(i) >> band) & 1) ? 0 : 1 << band;
  }

  /** The highest level of a lane; without what was never touched, if that is hidden. */
  peak(lane: number, hidden: number): number {
    const {bytes, reserved} = this.lane(lane).peak, band = this.tables.bands.indexOf('reserved');
    return bytes - (band >= 0 && (hidden >> band) & 1 ? reserved ?? 0 : 0);
  }

  columns(lane: number, asked = 0): LaneColumns {
    const hidden = asked & this.bandsOf(lane);
    if (hidden !== 0)
      return this.partial.get(`${lane} ${hidden}`, () => new LaneColumns(this.tables, lane, hidden));
    let found = this.whole.get(lane);
    if (found === undefined) {
      found = new LaneColumns(this.tables, lane, 0);
      this.whole.set(lane, found);
    }
    return found;
  }

  /**
   * Computes the columns of one lane without the hidden bands, for a few milliseconds; true if those of all lanes were
   * there before. A call in each frame then makes no frame late.
   */
  prepare(asked: number): boolean {
    const until = performance.now() + SLICE;
    for (let lane = 0; lane < this.info.lanes.length; lane++) {
      const hidden = asked & this.bandsOf(lane);
      if (hidden === 0) continue;
      const key = `${lane} ${hidden}`;
      if (this.partial.has(key)) continue;
      if (this.pending?.key !== key)
        this.pending = {key, columns: new LaneColumns(this.tables, lane, hidden, false)};
      const {columns} = this.pending;
      while (!columns.advance(ROWS)) {
        if (performance.now() > until) return false;
      }
      this.partial.get(key, () => columns);
      this.pending = null;
      return false; // the next lane, or the drawing, has a frame of its own
    }
    return true;
  }

  /** Null if the data knows no live blocks, or if there is no lane. */
  composition(lane: number, t: number, hidden = 0): Composition|null {
    if (lane >= this.info.lanes.length) return null;
    return this.compositions.get(
        `${lane} ${t} ${hidden}`, () => compose(this.tables, this.columns(lane), lane, this.replay, t, hidden));
  }

  tree(callers: boolean, allFrames: boolean): ShownTree {
    return this.trees.get(`${callers} ${allFrames}`, () => {
      return callers ? fromSites(this.tables, allFrames) : fromCallers(this.tables, allFrames);
    });
  }

  frameSums({lane, at, hidden, allFrames}: ViewState, callers: boolean): FrameSums|null {
    const composition = at === null ? null : this.composition(lane, at, hidden);
    if (composition === null) return null;
    const tree = this.tree(callers, allFrames), key = `${lane} ${at} ${hidden} ${callers} ${allFrames}`;
    let sums = this.sums.get(tree);
    if (sums === undefined) {
      sums = new FrameSums(tree, this.tables);
      this.sums.set(tree, sums);
      this.summed = '';
    }
    if (key !== this.summed) sums.fill(composition);
    this.summed = key;
    return sums;
  }

  query(text: string): Query { return parseQuery(text); }

  /** Null for an empty query. */
  search(text: string): Found|null {
    const query = parseQuery(text);
    if (query.empty) return null;
    return this.found.get(text, () => find(this.tables, this.page.strings, query, this.page.info.roles));
  }

  /** By node: 1 if its stack has the selected frame. */
  through(selected: number): Uint8Array {
    return this.marked.get(String(selected), () => this.frames.through(selected));
  }

  selection(lane: number, selected: number): SelectionRows {
    return this.selections.get(`${lane} ${selected}`, () => {
      return new SelectionRows(this.tables, this.columns(lane).rules, this.through(selected));
    });
  }

  sites(by: 'line'|'site'): SiteKeys { return this.keys.get(by, () => siteKeys(this.tables, this.frames, by)); }

  text(index: number): string { return this.page.strings.get(index); }

  /** A selected node of the state, or null if the tree has no such node. */
  node(selected: number|null): number|null {
    return selected !== null && selected > 0 && selected < this.tables.tree.parent.length ? selected : null;
  }
}

const stores = new WeakMap<PageData, Map<number, ProcessStore>>();

export function storeOf(page: PageData, process: number): ProcessStore {
  let known = stores.get(page);
  if (known === undefined) {
    known = new Map();
    stores.set(page, known);
  }
  let store = known.get(process);
  if (store === undefined) {
    store = new ProcessStore(page, process);
    known.set(process, store);
  }
  return store;
}
