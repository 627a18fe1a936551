// Purpose: the columns of a table: what they show, and what they sort by and copy.

import {exact, fixed, inUnit, signedInUnit, Unit} from '../wording/units';

import {Key} from './sort';

export interface Column<T> {
  readonly title: string;
  readonly hint?: string;
  /** Numbers stand at the right, and a first click sorts them downwards. */
  readonly number?: boolean;
  readonly class
  ?: string;
  /** Left out if all its cells are empty. */
  readonly optional?: boolean;
  /** What the column sorts by and what is copied: exact bytes, not MiB. */
  key(row: T): Key;
  /** Fills the cell. */
  fill(cell: HTMLTableCellElement, row: T): void;
}

interface More {
  readonly hint?: string;
  readonly class
  ?: string;
  readonly optional?: boolean;
}

/** Puts a size into a cell, with the exact bytes in its title and in data-bytes. */
export function putBytes(cell: HTMLElement, amount: number|null, shown: string): void {
  if (amount === null) return;
  cell.textContent = shown;
  cell.title = exact(amount);
  cell.dataset.bytes = String(amount);
}

export function bytesColumn<T>(
    title: string, unit: Unit, of: (row: T) => number | null, more: More = {}): Column<T> {
  const fill = (cell: HTMLTableCellElement, row: T) => {
    const amount = of(row);
    putBytes(cell, amount, amount === null ? '' : inUnit(amount, unit));
  };
  return {title, number: true, key: of, fill, ...more};
}

/** Sizes with a sign. The colours of growth and shrinkage repeat what the sign says. */
export function changeColumn<T>(title: string, unit: Unit, of: (row: T) => number, more: More = {}): Column<T> {
  const fill = (cell: HTMLTableCellElement, row: T) => {
    const amount = of(row);
    const shown = signedInUnit(amount, unit);
    putBytes(cell, amount, shown);
    cell.classList.add(shown.startsWith('+') ? 'grew' : shown.startsWith('-') ? 'shrank' : 'same');
  };
  return {title, number: true, key: of, fill, ...more};
}

/** Sizes with a sign, where more is neither good nor bad. */
export function signedColumn<T>(
    title: string, unit: Unit, of: (row: T) => number | null, more: More = {}): Column<T> {
  const fill = (cell: HTMLTableCellElement, row: T) => {
    const amount = of(row);
    putBytes(cell, amount, amount === null ? '' : signedInUnit(amount, unit));
  };
  return {title, number: true, key: of, fill, ...more};
}

export function numberColumn<T>(
    title: string, digits: number, of: (row: T) => number | null, more: More = {}): Column<T> {
  const fill = (cell: HTMLTableCellElement, row: T) => {
    const value = of(row);
    cell.textContent = value === null ? '' : fixed(value, digits);
  };
  return {title, number: true, key: of, fill, ...more};
}

/** `show`: makes what the cell shows; without it, the text itself. */
export function textColumn<T>(
    title: string, of: (row: T) => string, show?: (row: T) => Node | string, more: More = {}): Column<T> {
  const fill = (cell: HTMLTableCellElement, row: T) => {
    if (show === undefined)
      cell.textContent = of(row);
    else
      cell.append(show(row));
  };
  return {title, key: of, fill, ...more};
}
