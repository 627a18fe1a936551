// Purpose: formats sizes, times and counts for people, with the same digits as memtrace's text report.

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** The unit of a table: GiB if the largest figure is at least 4 GiB, else MiB. */
export interface Unit {
  readonly name: 'MiB'|'GiB';
  readonly bytes: number;
}

export function unitFor(largest: number): Unit {
  // MiB up to 4 GiB: two digits of a GiB would hide 10 MiB.
  return Math.abs(largest) >= 4 * GIB ? {name: 'GiB', bytes: GIB} : {name: 'MiB', bytes: MIB};
}

/**
 * Returns `value` with `digits` decimals (0 to 6). A tie goes to the even digit, as in the text report:
 * toFixed takes the larger one, so 128 KiB would be 0.13 MiB here and 0.12 MiB there.
 */
export function fixed(value: number, digits: number): string {
  const scale = 10 ** digits;
  // A value is a tie only if it is an odd multiple of this power of 2. Then the product is exact.
  const tie = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  const floor = Math.floor(Math.abs(value) * scale);
  const rounded = (floor % 2 === 0 ? floor : floor + 1) / scale;
  const text = (tie ? Math.sign(value) * rounded : value).toFixed(digits);
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text;
}

export function inUnit(bytes: number, unit: Unit): string { return fixed(bytes / unit.bytes, 2); }

/** Returns "+462.11", "-8.00" or "0.00". */
export function signedInUnit(bytes: number, unit: Unit): string {
  const text = inUnit(bytes, unit);
  return text === '0.00' || text.startsWith('-') ? text : '+' + text;
}

/** Returns "231.05 MiB" or "12.89 GiB". */
export function size(bytes: number): string {
  const unit = unitFor(bytes);
  return inUnit(bytes, unit) + ' ' + unit.name;
}

export function signedSize(bytes: number): string {
  const unit = unitFor(bytes);
  return signedInUnit(bytes, unit) + ' ' + unit.name;
}

/** Returns "13.84 GB" (10^9 bytes); below 1 GB "242.28 MB". */
export function gigabytes(bytes: number): string {
  return bytes >= 1e9 ? fixed(bytes / 1e9, 2) + ' GB' : fixed(bytes / 1e6, 2) + ' MB';
}

/** Returns "41 ms", "3.2 s", "4 min 10 s", "5 h 2 min" or "17 d 15 h". */
export function duration(seconds: number): string {
  if (seconds < 0.001) return fixed(seconds * 1e6, 0) + ' us';
  if (seconds < 1) return fixed(seconds * 1e3, 0) + ' ms';
  if (seconds < 120) return fixed(seconds, 1) + ' s';
  const whole = Math.floor(seconds + 0.5);
  const minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
  if (minutes < 120) return `${minutes} min ${whole % 60} s`;
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Returns "6,921,720,704". */
export function count(number: number): string { return String(number).replace(/\B(?=(\d{3})+$)/g, ','); }

/** Returns "1,024 bytes", the exact figure behind a rounded one. */
export function exact(bytes: number): string {
  return `${count(bytes)} ${Math.abs(bytes) === 1 ? "byte" : "bytes"}`;
}

/** Returns "12.3" for a share of 12.3 %, and "" if there is no whole. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? fixed((100 * part) / whole, 1) : '';
}
