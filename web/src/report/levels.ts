// Purpose: picks from a report's document what its pages lead with: peaks, resident memory, rows of phases.

import {Ledger, Levels, Measure, Peak, PhaseRow, Process, ReportDocument, Row, Step} from './document';

/** Returns the peak of one memory and measure. */
export function peakOf(process: Process, memory: string, measure: Measure): Peak|null {
  return process.peaks.find((peak) => peak.memory === memory && peak.measure === measure) ?? null;
}

/** Returns the bytes of a peak without reservations that were never touched, as the headline has them. */
export function touchedBytes(peak: Peak): number { return peak.bytes - (peak.reserved_untouched ?? 0); }

/** Returns the memories of a process, host first. */
export function memoriesOf(process: Process): string[] {
  return [...new Set(process.peaks.map((peak) => peak.memory))].sort(
      (a, b) => a === 'host' ? -1 :
          b === 'host'       ? 1 :
          a < b              ? -1 :
          a > b              ? 1 :
                               0);
}

/** Returns the peak that the report leads with in one memory: of tensors if they are at least half of it. */
export function leadingPeak(process: Process, memory: string): Peak|null {
  const live = peakOf(process, memory, 'live');
  const tensor = peakOf(process, memory, 'tensor');
  if (live === null) return tensor;
  const tensorsLead = tensor !== null && tensor.bytes > 0 && tensor.bytes >= Math.floor(touchedBytes(live) / 2);
  return tensorsLead ? tensor : live;
}

export function ledgerOf(process: Process, scope: string, at: string): Ledger|null {
  return process.ledger.find((one) => one.scope === scope && one.at === at) ?? null;
}

/** Returns the most resident bytes that the process had; 0: not known. */
export function highestResident(process: Process): number {
  const ledger = ledgerOf(process, 'process', 'peak_rss');
  const sampled = peakOf(process, 'host', 'rss')?.bytes ?? 0;
  return Math.max(sampled, ledger?.total ?? 0, ledger?.high_water ?? 0);
}

/** Returns the process of another document that is the same one, or null. */
export function sameProcess(document: ReportDocument|null, process: Process|null): Process|null {
  if (document === null || process === null) return null;
  return document.processes.find(
             (one) => one.pid === process.pid && one.host === process.host &&
                 one.start_unix === process.start_unix) ??
      null;
}

export interface PhaseLevels {
  row: PhaseRow;
  levels: Levels;
  atPeak: Row[]; // alive at this row's peak
}

/** Returns the rows of `phases` in one memory that have levels by one measure, in the document's order. */
export function phaseLevels(process: Process, memory: string, measure: 'live'|'tensor'): PhaseLevels[] {
  const out: PhaseLevels[] = [];
  for (const row of process.phases) {
    if (row.memory !== memory || row.count === 0 || row.peak_live === undefined) continue;
    const levels = measure === 'tensor' ? row.tensor : (row as Levels);
    if (levels === null || levels === undefined || levels.peak_live === 0) continue;
    out.push({row, levels, atPeak: (measure === 'tensor' ? row.tensor?.at_peak : row.at_peak) ?? []});
  }
  return out;
}

/** Returns the steps that a document has rows of, in their order; "steady" last. */
export function stepsOf(process: Process): Step[] {
  return [...new Set(process.phases.map((row) => row.step))];
}

/** Returns the role that took the most among what a phase made itself, of what is alive at its peak. */
export function largestRole(of: PhaseLevels): {role: string; bytes: number}|null {
  const {phase, step, bucket} = of.row;
  const [first, last] = bucket ?? [step, step];
  const own = (row: Row) => row.role !== 'unknown' && row.born_phase === phase &&
      (step === null ||
       (row.born_step !== null && row.born_step >= Number(first) && row.born_step <= Number(last)));
  const sums = new Map<string, number>();
  for (const row of of .atPeak)
    if (own(row)) sums.set(row.role, (sums.get(row.role) ?? 0) + row.bytes);
  let best: {role: string; bytes: number}|null = null;
  for (const [role, bytes] of sums)
    if (best === null || bytes > best.bytes) best = {role, bytes};
  return best;
}
