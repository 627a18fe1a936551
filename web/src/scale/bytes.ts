// Purpose: bytes in words.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** "71.42 GiB"; three or four figures, whole bytes below 1 KiB. */
export function bytes(value: number): string {
  let amount = Math.abs(value), unit = 0;
  while (amount >= 1023.995 && unit + 1 < UNITS.length) {
    amount /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : amount >= 100 ? 1 : 2;
  return `${value < 0 ? '\u2212' : ''}${amount.toFixed(digits)} ${UNITS[unit]}`;
}
