// Purpose: nanoseconds in words.

const UNITS: readonly(readonly[number, string])[] = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']];

function clock(ns: number): string {
  const seconds = Math.round(ns / 1e9), minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  const two = (value: number) => String(value).padStart(2, '0');
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h ${two(minutes % 60)} min`;
  return hours > 0 ? `${hours} h ${two(minutes % 60)} min` : `${minutes} min ${two(seconds % 60)} s`;
}

/** A length of time: "1 h 12 min", "18.2 ms". */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 120e9) return (ns < 0 ? '\u2212' : '') + clock(size);
  for (const [unit, name] of UNITS) {
    if (size >= unit) return `${Number((ns / unit).toPrecision(4))} ${name}`;
  }
  return `${Number(ns.toFixed(1))} ns`;
}

/** An instant since the start, with digits down to `resolution` ns: "12.131207 s". */
export function instant(ns: number, resolution = 1e6): string {
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(1, resolution)))));
  const seconds = ns / 1e9;
  if (seconds < 1) return `${(ns / 1e6).toFixed(Math.min(6, Math.max(0, digits - 3)))} ms`;
  if (seconds < 3600) return `${seconds.toFixed(digits)} s`;
  const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60;
  const rest = (seconds - hours * 3600 - minutes * 60).toFixed(digits);
  return `${hours}:${String(minutes).padStart(2, '0')}:${rest.padStart(digits > 0 ? digits + 3 : 2, '0')}`;
}
