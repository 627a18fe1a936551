// Purpose: search in ascending columns.

/** The number of elements of [from, to) that are at most `value`, plus `from`. */
export function upperBound(column: ArrayLike<number>, value: number, from = 0, to = column.length): number {
  let low = from, high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/** The number of elements of [from, to) that are below `value`, plus `from`. */
export function lowerBound(column: ArrayLike<number>, value: number, from = 0, to = column.length): number {
  let low = from, high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/**
 * As lowerBound, faster where the answer is a little above `near`: the time grows with the logarithm of the distance,
 * not with the length of the column. Columns of pixels ask in ascending order.
 */
export function lowerNear(
    column: ArrayLike<number>, value: number, near: number, from = 0, to = column.length): number {
  if (near <= from || near > to || column[near - 1] >= value) return lowerBound(column, value, from, to);
  let low = near, step = 1;
  while (low + step <= to && column[low + step - 1] < value) {
    low += step;
    step *= 2;
  }
  return lowerBound(column, value, low, Math.min(to, low + step));
}
