// Purpose: binary search in ascending columns.

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
