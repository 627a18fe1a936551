// Purpose: divide a rectangle into rectangles of given areas, as square as may be.

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The worst ratio of sides if the amounts [from, to) fill a row of this side. */
function worst(amounts: readonly number[], from: number, to: number, sum: number, side: number): number {
  const thick = sum / side;
  let most = 0;
  for (const one of [amounts[from], amounts[to - 1]]) {
    const long = one / thick;
    most = Math.max(most, long / thick, thick / long);
  }
  return most;
}

/** One rectangle for each amount; amounts are positive and descend. */
export function squarify(amounts: readonly number[], within: Rect): Rect[] {
  const total = amounts.reduce((a, b) => a + b, 0), out: Rect[] = [];
  if (total <= 0) return out;
  const unit = within.width * within.height / total;
  const areas = amounts.map((one) => one * unit);
  let {x, y, width, height} = within, from = 0;
  while (from < areas.length) {
    const side = Math.min(width, height);
    let to = from + 1, sum = areas[from];
    while (to < areas.length &&
           worst(areas, from, to + 1, sum + areas[to], side) <= worst(areas, from, to, sum, side)) {
      sum += areas[to++];
    }
    const thick = Math.min(sum / side, Math.max(width, height));
    let along = 0;
    for (let i = from; i < to; i++) {
      const long = sum > 0 ? side * areas[i] / sum : 0;
      out.push(
          width >= height ? {x, y: y + along, width: thick, height: long} :
                            {x: x + along, y, width: long, height: thick});
      along += long;
    }
    if (width >= height) {
      x += thick;
      width = Math.max(0, width - thick);
    } else {
      y += thick;
      height = Math.max(0, height - thick);
    }
    if (Math.min(width, height) <= 0) break;
    from = to;
  }
  while (out.length < amounts.length) out.push({x, y, width: 0, height: 0});
  return out;
}
