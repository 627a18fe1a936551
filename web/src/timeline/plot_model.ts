// Purpose: what the plot of one process shows, apart from pixels: strips, the height of each lane, its lines
// and limits.

import type {LimitInfo} from '../format/page';
import {phaseStrips, stepStrip, type Strip, where} from '../store/intervals';
import type {LineColumns} from '../store/line_columns';
import type {ProcessStore} from '../store/process_store';

const DEPTHS = 3;

export interface LaneLine {
  readonly name: string;
  readonly columns: LineColumns;
}

export interface LaneModel {
  /** "cuda:0", and below it "tensors" or "allocated". */
  readonly title: string;
  readonly measure: string;
  /** Bytes at the top of the lane. */
  readonly full: number;
  readonly limits: readonly LimitInfo[];
  readonly lines: readonly LaneLine[];
}

export interface PlotModel {
  readonly steps: Strip|null;
  readonly phases: readonly Strip[];
  readonly lanes: readonly LaneModel[];
  /** "step 3, backward", or "". */
  where(t: number): string;
}

export function laneName(store: ProcessStore, lane: number): string {
  const {memory, measure} = store.lane(lane);
  return `${memory}, ${measure === 'tensor' ? 'tensors' : 'all allocations'}`;
}

function laneModel(store: ProcessStore, lane: number, hidden: number): LaneModel {
  const {memory, measure} = store.lane(lane), live = measure === 'live';
  const lines = store.info.lines.map((one, i) => ({...one, columns: store.lines[i]}))
                    .filter((one) => live && one.memory === memory);
  const limits = store.info.limits.filter((one) => one.memory === memory);
  let full = Math.max(1024, store.peak(lane, hidden));
  // The first line is what the program has resident. The charge of a cgroup may be that of the whole machine.
  if (lines.length > 0) full = Math.max(full, lines[0].columns.highest);
  const most = full * 1.7;
  for (const one of [...lines.map((line) => line.columns.highest), ...limits.map((limit) => limit.bytes)]) {
    if (live && one <= most) full = Math.max(full, one);
  }
  return {
    title: memory,
    measure: live ? 'allocated' : 'tensors',
    full: full * 1.06,
    limits: live ? limits : [],
    lines
  };
}

const models = new WeakMap<ProcessStore, PlotModel[]>();

/** The model depends on the hidden bands only in whether they leave out what was never touched. */
export function plotModel(store: ProcessStore, hidden = 0): PlotModel {
  const known = models.get(store) ?? [], which = hidden & store.hiddenAtFirst ? 1 : 0;
  models.set(store, known);
  return known[which] ??= make(store, hidden, known[1 - which]);
}

function make(store: ProcessStore, hidden: number, like: PlotModel|undefined): PlotModel {
  const lanes = store.info.lanes.map((_, i) => laneModel(store, i, hidden));
  if (like !== undefined) return {...like, lanes};
  const {tables} = store, steps = stepStrip(tables), all = phaseStrips(tables, 256);
  return {
    steps: steps.of.length > 0 ? steps : null,
    phases: phaseStrips(tables, DEPTHS),
    lanes,
    where: (t) => where(tables, all, steps, t)
  };
}
