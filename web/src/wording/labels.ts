// Purpose: names roles, phases, steps, memories and ends of processes, with the words of the text report.

import {End, Process, Step} from '../report/document';

import {count} from './units';

const KINDS: Record<string, string> = {
  mmap_anon: 'mapping',
  mmap_file: 'file mapping',
  shm: 'shared memory',
};

/** Returns the words for a role or a kind of block: "optimizer state" for "optimizer_state". */
export function wordsOf(name: string): string { return KINDS[name] ?? name.replace(/_/g, ' '); }

/** Returns what a block is: its role, or its kind if it has no role. `ofTensors`: the block is a tensor. */
export function useOf(row: {role: string; kind: string | null}, ofTensors = false): string {
  if (row.role !== 'unknown') return wordsOf(row.role);
  return ofTensors ? 'tensor' : row.kind === null ? 'small blocks' : wordsOf(row.kind);
}

/** Returns "update" for "step", which could be mistaken for the number of a step. */
export function phaseWords(phase: string): string { return phase === 'step' ? 'update' : phase; }

/** Returns "update / clip" for the path ["step", "clip"]. */
export function pathWords(path: readonly string[]): string { return path.map(phaseWords).join(' / '); }

export function stepWords(step: Step): string {
  return step === null ? '' : step === 'steady' ? 'typical' : count(step);
}

/** Returns "update 0", or the phase alone if `step` is none. The time outside of phases: "outside phases". */
export function when(phase: string|null, step: Step): string {
  const words = phase === null || phase === '' ? '' : phaseWords(phase);
  if (words === 'other' || words === '')
    return step === null ? 'outside training' : `step ${stepWords(step)}, outside phases`;
  return step === null ? words : `${words} ${stepWords(step)}`;
}

/** Returns where blocks come from, for a column: "load", "update 0", or "" if they are of no phase. */
export function since(phase: string|null, step: Step): string {
  if (phase === null || phase === '' || phase === 'other')
    return step === null ? '' : `step ${stepWords(step)}`;
  return when(phase, step);
}

export function memoryWords(memory: string): string {
  return memory.startsWith('cuda:') ? 'GPU ' + memory.slice(5) : memory;
}

const MEASURES: Record<string, string> = {
  live: 'all allocations',
  tensor: 'tensors',
  reserved: 'reserved by the allocator',
  used: 'used',
  rss: 'resident',
};

export function measureWords(measure: string): string { return MEASURES[measure] ?? measure; }

/** Returns "tensors", "tensors on GPU 0". On a device, `live` is what the driver gave: segments, not blocks. */
export function laneWords(memory: string, measure: string): string {
  if (memory === 'host') return measureWords(measure);
  return `${measure === "live" ? "given by the driver" : measureWords(measure)} on ${memoryWords(memory)}`;
}

function fileName(path: string): string { return path.slice(path.lastIndexOf('/') + 1); }

/** Returns the script that an interpreter runs, else the program. */
export function programName(process: Pick<Process, 'argv'|'exe'>): string {
  const script = process.argv.find((argument) => argument.length > 3 && argument.endsWith('.py'));
  return fileName(script ?? process.argv[0] ?? process.exe) || fileName(process.exe) || '?';
}

const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  11: 'SIGSEGV',
  12: 'SIGUSR2',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
};

/** Returns how a process ended, in the words of the text report: "finished", "killed for memory". */
export function endWords(end: End): string {
  switch (end.how) {
    case 'exit':
      return (end.code ?? 0) === 0 ? 'finished' : `exited with ${end.code}`;
    case 'signal':
      return `ended by signal ${end.code} (${SIGNALS[end.code ?? 0] ?? end.code})`;
    case 'oom_kill':
      return 'killed for memory';
    case 'killed_by_manager':
      return `killed${end.for_memory ? ' for memory' : ''} by ${end.manager ?? "the job's manager"}` +
        (end.after ? ` after ${end.after} died` : '');
    case 'exec':
      return 'became another program (exec)';
    case 'running':
      return 'still running';
    default:
      return end.code === 9 ? 'killed, cause unknown' : 'no record of its end (killed?)';
  }
}

/** Returns true if the process ended as its program meant it to. */
export function endedWell(end: End): boolean {
  return (end.how === 'exit' && (end.code ?? 0) === 0) || end.how === 'running' || end.how === 'exec';
}

// The band of the timeline, and so the colour, of a role: the same as in the analyzer.
const BAND_OF_ROLE: Record<string, string> = {
  parameter: 'parameter',
  master: 'parameter',
  buffer: 'parameter',
  gathered: 'communication',
  gradient: 'gradient',
  optimizer_state: 'optimizer state',
  activation: 'activation',
  kv_cache: 'activation',
  temporary: 'temporary',
  workspace: 'temporary',
  rounding: 'cache',
  comm: 'communication',
  input: 'input',
  staging: 'input',
  checkpoint: 'input',
  context: 'context',
};

/**
 * Returns the band of blocks: of tensors without a role "unattributed", of other such blocks "runtime" or a GPU's
 * "cache".
 */
export function bandOf(row: {role: string; kind?: string | null}, ofTensors = false): string {
  const rest = ofTensors ? 'unattributed' : row.kind === 'device' ? 'cache' : 'runtime';
  return Object.prototype.hasOwnProperty.call(BAND_OF_ROLE, row.role) ? BAND_OF_ROLE[row.role] : rest;
}
