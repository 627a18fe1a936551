// Purpose: round numbers for axes.

/** The step of 1, 2 or 5 times a power of ten that is at least `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

const LONG =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** The step of ticks in ns: decimal below a second, of clocks above. */
export function timeStep(least: number): number {
  if (least <= 0.5e9) return roundStep(least);
  return (LONG.find((seconds) => seconds * 1e9 >= least) ?? 604800) * 1e9;
}

/** The step of ticks in bytes: a power of two, at least `least`. */
export function byteStep(least: number): number {
  let step = 1;
  while (step < least) step *= 2;
  return step;
}

function digitsOf(step: number): number { return Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)); }

const UNITS: readonly(readonly[number, string])[] = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']];

/** A time or an offset on an axis with ticks of `step` ns: "12.4 s", "3 min 20 s", "2 d 4 h". */
export function tickLabel(ns: number, step: number): string {
  if (step >= 1e9 && ns >= 60e9) return longLabel(Math.round(ns / 1e9), step);
  const size = Math.max(Math.abs(ns), step);
  const [unit, name] = UNITS.find(([one]) => size >= one) ?? UNITS[3];
  return `${(ns / unit).toFixed(digitsOf(step / unit))} ${name}`;
}

function longLabel(seconds: number, step: number): string {
  const parts: string[] = [];
  const units: readonly(readonly[number, string])[] = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  let rest = seconds;
  for (const [unit, name] of units) {
    const amount = Math.floor(rest / unit);
    rest -= amount * unit;
    if (amount > 0) parts.push(`${amount} ${name}`);
    if (unit * 1e9 <= step) break;
  }
  return parts.slice(0, 3).join(' ') || '0 s';
}

/**
 * Where labels start to count from: 0 if they stay short, else a round instant before `from`, so that the
 * labels are short offsets from it.
 */
export function labelBase(from: number, step: number): number {
  if (from / step < 20000) return 0;
  const grain = Math.max(1, roundStep(step * 100));
  return Math.floor(from / grain) * grain;
}
