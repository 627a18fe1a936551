// Purpose: thins the levels up to a death to what a chart can show, without losing a peak.

export interface Moment {
  readonly t: number; // seconds
  readonly live: number;
  readonly tensor: number;
}

/**
 * Returns at most two moments for each of `columns` equal parts of [0, end]: that of the highest level, and
 * the last.
 */
export function thinned(moments: readonly Moment[], end: number, columns: number): Moment[] {
  if (moments.length <= 2 * columns || end <= 0) return [...moments];
  const out: Moment[] = [];
  let first = 0;
  const column = (one: Moment) => Math.min(columns - 1, Math.floor(columns * one.t / end));
  while (first < moments.length) {
    let last = first, highest = first;
    while (last + 1 < moments.length && column(moments[last + 1]) === column(moments[first])) {
      last++;
      if (moments[last].live > moments[highest].live) highest = last;
    }
    out.push(moments[highest]);
    if (last !== highest) out.push(moments[last]);
    first = last + 1;
  }
  return out;
}
