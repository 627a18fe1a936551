// Purpose: what the views take from the documents is what the text report says of the same run.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import type {Frame} from '../src/report/document';
import {barsOf} from '../src/report/drift';
import {thinned} from '../src/report/growth';
import {holders, SiteNamer} from '../src/report/holders';
import {
  highestResident,
  largestRole,
  leadingPeak,
  ledgerOf,
  peakOf,
  phaseLevels,
  sameProcess,
  touchedBytes
} from '../src/report/levels';
import {allocatorOf, framesOf, namesOf, shortPath, titleOf} from '../src/report/sites';
import {comparableSteps, phasePairs} from '../src/report/step_pair';
import {headline} from '../src/report/theory';
import {bandOf, endWords, pathWords, programName, since, stepWords, when, wordsOf} from '../src/wording/labels';
import {fixed, inUnit, percent, signedInUnit, size, unitFor} from '../src/wording/units';

import {fixture, processOf, textOf} from './fixtures';

const falcon = processOf('falcon');
const killed = processOf('killed');

function lineOf(text: string, start: RegExp): string {
  const found = text.split('\n').find((line) => start.test(line));
  assert.ok(found !== undefined, `the text has no line ${start}`);
  return (found ?? '').replace(/\s+/g, ' ').trim();
}

test('the head says what the first line of the text says', () => {
  for (const [process, name] of [[falcon, 'falcon'], [killed, 'killed']] as const) {
    const peak = leadingPeak(process, 'host');
    assert.ok(peak !== null && peak.measure === 'tensor');
    if (peak === null) continue;
    const head = `${programName(process)} pid ${process.pid} ${endWords(process.end)} after ${
                     fixed(process.duration, 1)} s ` +
        `tensors ${size(peak.bytes)} at most, in ${when(peak.phase, peak.step)}; resident ${
                     size(highestResident(process))} at most`;
    const first = textOf(name).split(/\n\d\. /)[0].replace(/\s+/g, ' ').trim();
    assert.equal(head, first);
  }
});

test('all allocations are shown without reservations that were never touched', () => {
  const live = peakOf(falcon, 'host', 'live');
  assert.ok(live !== null);
  if (live !== null)
    assert.ok(
        textOf('falcon').includes(`all allocations, tensors included: ${size(touchedBytes(live))} at most`));
});

test('rows by line add up to the peak, and are those of the text', () => {
  for (const [process, name] of [[falcon, 'falcon'], [killed, 'killed']] as const) {
    const namer = new SiteNamer(process);
    const peak = peakOf(process, 'host', 'tensor');
    if (peak === null) throw new Error('no peak');
    for (const by of ['line', 'site', 'role', 'phase'] as const) {
      const sum = holders(namer, peak.at_peak, by, true).reduce((so_far, one) => so_far + one.bytes, 0);
      assert.equal(sum, peak.bytes);
    }
    const live = peakOf(process, 'host', 'live');
    const all =
        holders(namer, live?.at_peak ?? [], 'line', false).reduce((so_far, one) => so_far + one.bytes, 0);
    assert.equal(all, live?.bytes);
    const unit = unitFor(peak.bytes);
    const large = holders(namer, peak.at_peak, 'line', true)
                      .filter((one) => one.line !== '' && one.bytes > 0.19 * peak.bytes);
    assert.ok(large.length >= 3);
    for (const one of large) {
      const figures = `${one.use} ${inUnit(one.bytes, unit)} ${percent(one.bytes, peak.bytes)}`;
      const text = textOf(name).split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
      const line = text.find((each) => each.startsWith(figures));
      assert.ok(line !== undefined, figures);
      assert.ok(
          line?.includes(` ${since(one.phase, one.firstStep)} ${one.line} ${one.allocator}`),
          `${line} / ${one.allocator}`);
    }
  }
});

test('phases have the figures of the table in the text', () => {
  const rows = phaseLevels(falcon, 'host', 'tensor');
  assert.equal(rows.length, 11);
  const unit = unitFor(peakOf(falcon, 'host', 'tensor')?.bytes ?? 0);
  for (const one of rows) {
    const {entry_live, peak_live, exit_live, net, transient} = one.levels;
    const found = largestRole(one);
    const mostly = found === null || inUnit(found.bytes, unit) === '0.00' ? '' : ` ${wordsOf(found.role)}`;
    const name = `${pathWords(one.row.path)}${one.row.step === null ? "" : " " + stepWords(one.row.step)}`;
    const line =
        [
          name, inUnit(entry_live, unit), inUnit(peak_live, unit), inUnit(exit_live, unit),
          signedInUnit(net, unit), inUnit(transient, unit)
        ].join(' ') +
        mostly;
    // The document names few blocks of each phase, so the bytes of the last column are those of the text alone.
    const text = lineOf(textOf('falcon'), new RegExp(`^  ${name.replace(" ", " +")} `));
    assert.equal(line, text.replace(/ ([a-z ]+) [\d.]+$/, ' $1'));
  }
});

test('the rows of the ledger, its residual and its total are those of the text, and they close', () => {
  for (const [process, name] of [[falcon, 'falcon'], [killed, 'killed']] as const) {
    for (const ledger of process.ledger)
      assert.equal(ledger.rows.reduce((sum, row) => sum + row.bytes, 0) + ledger.residual, ledger.total);
    const ledger = ledgerOf(process, 'process', 'peak_rss');
    if (ledger === null) throw new Error('no ledger');
    const unit = unitFor(ledger.total);
    const text = textOf(name).replace(/\s+/g, ' ');
    for (const row of ledger.rows.filter((each) => each.bytes >= ledger.total / 100))
      assert.ok(text.includes(`${row.name} ${inUnit(row.bytes, unit)}`), row.name);
    assert.ok(text.includes(`not explained: ${inUnit(ledger.residual, unit)} of it`));
  }
});

test('bytes per parameter begin as the text does', () => {
  const {explain} = fixture('falcon');
  if (explain === null) throw new Error('no document');
  assert.equal(headline(explain), lineOf(textOf('falcon'), /bytes per parameter kept/));
});

test('the rows of a comparison add up to its total', () => {
  const {first_vs_steady: diff} = fixture('falcon');
  if (diff === null) throw new Error('no document');
  assert.equal(diff.rows.reduce((sum, row) => sum + row.change, 0), diff.total);
  for (const row of diff.rows) assert.equal(row.bytes_b - row.bytes_a, row.change);
});

test('who held memory at the death has the names of the text', () => {
  const {postmortem} = fixture('killed');
  const process = sameProcess(postmortem, killed);
  const death = process?.death;
  if (process === null || death === null || death === undefined) throw new Error('no death');
  const rows = holders(new SiteNamer(process, true), death.held ?? [], 'line', false);
  assert.deepEqual(
      rows.slice(0, 3).map((one) => [one.use, one.line]),
      [['state dict', 'cpu_oom.py:44'], ['model', 'cpu_oom.py:57'], ['model', 'cpu_oom.py:25']]);
  const text = textOf('killed').replace(/\s+/g, ' ');
  for (const one of rows.slice(0, 3))
    assert.ok(text.includes(`${one.use} ${size(one.bytes).replace(" MiB", "")}`));
});

test('two steps stand side by side, phase by phase', () => {
  assert.deepEqual(comparableSteps(falcon, 'host', 'tensor'), [0, 'steady']);
  const pairs = phasePairs(falcon, 'host', 'tensor', 0, 'steady');
  assert.deepEqual(pairs.map((one) => one.path.join()), ['forward', 'loss', 'backward', 'step', 'zero_grad']);
  assert.equal(pairs[3].a?.levels.net, 484552908);
  assert.equal(phasePairs(falcon, 'host', 'tensor', 0, 7)[0].b, null);
});

test("sites are named by the operator, its line and the user's line", () => {
  const names = namesOf(framesOf(falcon, falcon.findings[0].site), ['/home/user/falcon_adamw.py']);
  assert.equal(titleOf(names), 'torch._foreach_sqrt, torch/optim/adam.py:790');
  assert.equal(allocatorOf(names), 'torch._foreach_sqrt adam.py:790');
  assert.equal(names.own, 'falcon_adamw.py:35');
  assert.deepEqual(framesOf(falcon, {id: 'constructor'}), []);
  assert.deepEqual(framesOf(falcon, null), []);
  assert.equal(namesOf([]).own, '');
});

test("the user's line is the innermost frame that the document calls own", () => {
  const frame = (file: string, line: number, own?: boolean): Frame =>
      ({function: 'f', file, line, module: '', lang: 'python', ...(own === undefined ? {} : {own})});
  const frames = [
    frame('/opt/packages/pyarrow/__init__.py', 59), frame('/home/user/data.py', 7, true),
    frame('/home/user/train.py', 3, true)
  ];
  assert.equal(namesOf(frames).own, 'user/data.py:7');
  assert.equal(namesOf(frames.slice(0, 1)).own, '');
});

test('paths are short', () => {
  assert.equal(shortPath('/venv/lib/python3.11/site-packages/torch/nn/a.py'), 'torch/nn/a.py');
  assert.equal(shortPath('/usr/lib/python3.11/json/decoder.py'), 'json/decoder.py');
  assert.equal(shortPath('/home/user/project/data/load.py'), 'data/load.py');
});

test('bars of many steps keep the highest of each, and every step is in one', () => {
  const level = Array.from({length: 1003}, (_, i) => (i * 7919) % 1009);
  const bars = barsOf(level, 250);
  assert.ok(bars.length <= 250);
  assert.equal(Math.max(...bars.map((one) => level[one.highest])), Math.max(...level));
  let next = 0;
  for (const one of bars) {
    assert.equal(one.first, next);
    assert.equal(level[one.highest], Math.max(...level.slice(one.first, one.last + 1)));
    next = one.last + 1;
  }
  assert.equal(next, level.length);
});

test('a chart of many levels keeps the highest and the last of each column', () => {
  const moments = Array.from({length: 9001}, (_, i) => ({t: i / 1000, live: (i * 7919) % 9001, tensor: i}));
  const few = thinned(moments, 9, 100);
  assert.ok(few.length <= 200);
  assert.equal(Math.max(...few.map((one) => one.live)), 9000);
  assert.equal(few[few.length - 1], moments[9000]);
  assert.ok(few.every((one, i) => i === 0 || few[i - 1].t < one.t));
  assert.deepEqual(thinned(moments.slice(0, 150), 9, 100), moments.slice(0, 150));
});

test("blocks have the band of the analyzer's timeline", () => {
  assert.equal(bandOf({role: 'optimizer_state', kind: 'heap'}), 'optimizer state');
  assert.equal(bandOf({role: 'checkpoint', kind: 'heap'}), 'input');
  assert.equal(bandOf({role: 'unknown', kind: 'heap'}), 'runtime');
  assert.equal(bandOf({role: 'unknown', kind: 'heap'}, true), 'unattributed');
  assert.equal(bandOf({role: 'unknown', kind: 'device'}), 'cache');
  assert.equal(bandOf({role: 'constructor', kind: null}), 'runtime');
});

test('ends of processes have the words of the text report', () => {
  const end = (how: string, code: number) =>
      endWords({how, code, evidence: []} as Parameters<typeof endWords>[0]);
  assert.equal(end('exit', 0), 'finished');
  assert.equal(end('exit', 3), 'exited with 3');
  assert.equal(end('signal', 11), 'ended by signal 11 (SIGSEGV)');
  assert.equal(end('unknown', 9), 'killed, cause unknown');
  assert.equal(end('unknown', 0), 'no record of its end (killed?)');
});

test('memory that was reserved and never touched is a row of its own', () => {
  const process = falcon;
  const row = {
    bytes: 1 << 30, asked: 1 << 30, blocks: 1, kind: 'mmap_anon', role: 'unknown', site: null, born_phase: 'load',
    born_step: null, lifetime: 1, how: 'measured' as const, resident: 4096, untouched: (1 << 30) - 4096
  };
  const parts = holders(new SiteNamer(process), [row], 'line', false);
  assert.deepEqual(parts.map((one) => [one.use, one.bytes, one.blocks, one.reserved]),
                   [['reserved, never touched', (1 << 30) - 4096, 0, true], ['mapping', 4096, 1, false]]);
});
