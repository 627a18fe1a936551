// Purpose: sorts rows by one column, stably, with empty cells at the end in both directions.

export type Key = string|number|null;

/** True for a cell without content. */
export function isEmpty(key: Key): boolean {
  return key === null || key === '' || (typeof key === 'number' && Number.isNaN(key));
}

// Returns the order of two cells that are not empty: numbers before texts, and texts by their code units, which
// are the same on every machine.
function compare(a: Key, b: Key): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  const x = a as string, y = b as string;
  return x < y ? -1 : x > y ? 1 : 0;
}

export function sorted<T>(rows: readonly T[], key: (row: T) => Key, descending: boolean): T[] {
  const keyed = rows.map((row) => ({row, key: key(row)}));
  keyed.sort((a, b) => {
    const empty = Number(isEmpty(a.key)) - Number(isEmpty(b.key));
    if (empty !== 0 || isEmpty(a.key)) return empty;
    return descending ? compare(b.key, a.key) : compare(a.key, b.key);
  });
  return keyed.map((one) => one.row);
}
