// Purpose: bytes in words.

import {fixed} from '../wording/units';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** "71.42 GiB", "1255.6 MiB": MiB up to 4 GiB, as in the report; whole bytes below 1 KiB. */
export function bytes(value: number): string {
  let amount = Math.abs(value), unit = 0;
  while (amount >= (unit === 2 ? 4096 : 1023.995) && unit + 1 < UNITS.length) {
    amount /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : amount >= 100 ? 1 : 2;
  return `${value < 0 ? '\u2212' : ''}${fixed(amount, digits)} ${UNITS[unit]}`;
}
