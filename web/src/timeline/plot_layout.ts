// Purpose: where the rows of the plot stand, from top to bottom, in CSS pixels.

export interface Row {
  readonly top: number;
  readonly height: number;
}

export interface PlotLayout {
  readonly left: number;
  readonly width: number;
  readonly total: number;
  readonly steps: Row|null;
  readonly phases: readonly Row[];
  readonly marks: Row;
  readonly lanes: readonly Row[];
  readonly rate: Row;
  readonly raw: Row;
  readonly axis: Row;
}

const LEFT = 88, RIGHT = 20;
const TITLE = 18; // the line above a lane

export interface PlotNeeds {
  readonly steps: boolean;
  readonly phases: number;
  readonly lanes: number;
  /** The lane that is drawn tall. */
  readonly tall: number;
  /** The height of the tall lane. */
  readonly height: number;
}

export function plotLayout(width: number, needs: PlotNeeds): PlotLayout {
  let y = 4;
  const row = (height: number, gap: number): Row => {
    const one = {top: y, height};
    y += height + gap;
    return one;
  };
  const steps = needs.steps ? row(20, 3) : null;
  const phases: Row[] = [];
  for (let i = 0; i < needs.phases; i++) phases.push(row(18, i + 1 < needs.phases ? 2 : 3));
  const marks = row(20, 4);
  const lanes: Row[] = [], small = needs.lanes > 6 ? 44 : 76;
  for (let i = 0; i < needs.lanes; i++) {
    y += TITLE;
    lanes.push(row(i === needs.tall ? needs.height : small, 6));
  }
  y += 4;
  const rate = row(10, 6), raw = row(8, 4), axis = row(24, 2);
  return {
    left: LEFT,
    width: Math.max(50, width - LEFT - RIGHT),
    total: y,
    steps,
    phases,
    marks,
    lanes,
    rate,
    raw,
    axis
  };
}

/** The lane whose row has this y, or the nearest; -1: there is none. */
export function laneAt(layout: PlotLayout, y: number): number {
  let best = -1, least = Infinity;
  layout.lanes.forEach((row, i) => {
    const away = Math.max(row.top - y, y - row.top - row.height, 0);
    if (away < least) [best, least] = [i, away];
  });
  return best;
}
