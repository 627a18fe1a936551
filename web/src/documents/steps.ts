// Purpose: the tab of the steps: the phases of two steps side by side, and the drift over all steps.

import {Current, hasReport} from '../report/current';
import {Process, Step} from '../report/document';
import {driftOf} from '../report/drift';
import {holders, SiteNamer} from '../report/holders';
import {largestRole, leadingPeak, memoriesOf, PhaseLevels, phaseLevels} from '../report/levels';
import {comparableSteps, PhasePair, phasePairs} from '../report/step_pair';
import type {App, Tab, View} from '../state/app';
import {bytesColumn, changeColumn, Column, signedColumn, textColumn} from '../table/column';
import {table} from '../table/table';
import {bandOf, laneWords, pathWords, stepWords, wordsOf} from '../wording/labels';
import {count, inUnit, size, Unit, unitFor} from '../wording/units';
import {built, chooser} from './built';
import {driftStrip} from './drift_strip';
import {element, name, swatch} from '../dom/element';
import {laneOf} from './moment';
import {hasStack, holderColumns, holderStacks} from './peaks';
import {stepChart} from './step_chart';

type Measure = 'live'|'tensor';

interface Chosen {
  readonly memory: string;
  readonly measure: Measure;
  readonly a: Step;
  readonly b: Step;
}

function readStep(text: string|undefined): Step|undefined {
  if (text === 'steady') return 'steady';
  const number = Number(text);
  return text !== undefined && /^\d+$/.test(text) ? number : undefined;
}

/** The choice "host/tensor,0,steady"; what it lacks is what the report leads with: first against typical. */
function chosen(current: Current, process: Process, choice: string): Chosen {
  const [lane, a, b] = choice.split(',');
  const [wantedMemory, wantedMeasure] = (lane ?? '').split('/');
  const memory = memoriesOf(process).includes(wantedMemory) ?
      wantedMemory :
      current.info.lanes.find((one) => one.leads)?.memory ?? 'host';
  const lead = leadingPeak(process, memory)?.measure === 'tensor' ? 'tensor' : 'live';
  const measure: Measure = wantedMeasure === 'tensor' || wantedMeasure === 'live' ? wantedMeasure : lead;
  const steps = comparableSteps(process, memory, measure);
  const known = (step: Step|undefined, otherwise: Step) =>
      step !== undefined && steps.includes(step) ? step : otherwise;
  return {
    memory,
    measure,
    a: known(readStep(a), steps[0] ?? null),
    b: known(readStep(b), steps[steps.length - 1] ?? null)
  };
}

// A bar from the level at entry to the peak, with a tick at the exit, on the scale of all rows.
function rangeBar(levels: PhaseLevels['levels'], highest: number): HTMLElement {
  const made = element('span', {class: 'range', attributes: {'aria-hidden': 'true'}});
  const share = (bytes: number) => String(Math.max(0, Math.min(1, bytes / Math.max(1, highest))));
  made.style.setProperty('--entry', share(levels.entry_live));
  made.style.setProperty('--peak', share(levels.peak_live));
  made.style.setProperty('--exit', share(levels.exit_live));
  made.append(element('span', {class: 'to-peak'}), element('span', {class: 'exit'}));
  return made;
}

// Less than the last digit shown says nothing.
function mostly(one: PhaseLevels, unit: Unit): {role: string; bytes: number}|null {
  const found = largestRole(one);
  return found === null || inUnit(found.bytes, unit) === '0.00' ? null : found;
}

function showMostly(one: PhaseLevels, unit: Unit): HTMLElement {
  const found = mostly(one, unit);
  if (found === null) return element('span');
  return element('span', {class: 'use'}, [swatch(bandOf(found)), wordsOf(found.role)]);
}

function aliveThen(app: App, namer: SiteNamer, one: PhaseLevels, tensors: boolean): HTMLElement {
  const unit = unitFor(one.levels.peak_live);
  const rows = holders(namer, one.atPeak, 'line', tensors);
  return table({
    rows,
    caption: `Alive at the peak of ${pathWords(one.row.path)} ${stepWords(one.row.step)}, ${unit.name}`,
    columns: holderColumns('line', unit, one.levels.peak_live, 0, rows[0]?.bytes ?? 0),
    sort: {column: 1, descending: true},
    details: (row) => holderStacks(namer, row),
    opens: hasStack,
    announce: (text) => app.announce(text)
  });
}

function phaseTable(app: App, namer: SiteNamer, rows: PhaseLevels[], of: Chosen): HTMLElement {
  const highest = rows.reduce((most, one) => Math.max(most, one.levels.peak_live), 0);
  const unit = unitFor(highest);
  const columns: Column<PhaseLevels>[] = [
    textColumn(
        'phase', (one) => pathWords(one.row.path),
        (one) => name(pathWords(one.row.path) + (one.row.count > 1 ? ` x${one.row.count}` : ''))),
    {
      title: 'step',
      key: (one) => typeof one.row.step === 'number' ? one.row.step :
          one.row.step === null                      ? null :
                                                       Infinity,
      fill: (cell, one) => void (cell.textContent = stepWords(one.row.step))
    },
    bytesColumn('entry', unit, (one) => one.levels.entry_live, {hint: 'at the start of its first occurrence'}),
    bytesColumn('peak', unit, (one) => one.levels.peak_live),
    bytesColumn('exit', unit, (one) => one.levels.exit_live, {hint: 'at the end of its last occurrence'}), {
      title: 'entry to peak',
      class: 'bars',
      key: (one) => one.levels.peak_live,
      fill: (cell, one) => cell.append(rangeBar(one.levels, highest))
    },
    signedColumn('kept', unit, (one) => one.levels.net, {hint: 'exit less entry, summed over its occurrences'}),
    bytesColumn(
        'temporary', unit, (one) => one.levels.transient, {hint: 'peak less the larger of entry and exit'}),
    textColumn(
        'mostly', (one) => wordsOf(mostly(one, unit)?.role ?? ''), (one) => showMostly(one, unit),
        {hint: 'what the phase made itself, and holds at its peak: the largest role', optional: true})
  ];
  return table({
    id: 'phases',
    rows,
    columns,
    caption: `${laneWords(of.memory, of.measure)} by phase, ${unit.name}`,
    details: (row) => aliveThen(app, namer, row, of.measure === 'tensor'),
    opens: (row) => row.atPeak.length > 0,
    rowClass: (one) => one.row.step === 'steady' ? 'typical' : '',
    announce: (text) => app.announce(text)
  });
}

function pairTable(app: App, pairs: PhasePair[], of: Chosen): HTMLElement {
  const read_ = (one: PhaseLevels|null, read: (levels: PhaseLevels['levels']) => number) =>
      one === null ? null : read(one.levels);
  const highest = pairs.reduce(
      (most, one) => Math.max(most, one.a?.levels.peak_live ?? 0, one.b?.levels.peak_live ?? 0), 0);
  const unit: Unit = unitFor(highest);
  const [a, b] = [stepTitle(of.a), stepTitle(of.b)];
  const column = (title: string, side: 'a'|'b', read: (levels: PhaseLevels['levels']) => number) =>
      bytesColumn<PhasePair>(title, unit, (one) => read_(one[side], read));
  const signed = (title: string, side: 'a'|'b', read: (levels: PhaseLevels['levels']) => number) =>
      signedColumn<PhasePair>(title, unit, (one) => read_(one[side], read));
  const difference = (read: (levels: PhaseLevels['levels']) => number) => (one: PhasePair) =>
      (read_(one.b, read) ?? 0) - (read_(one.a, read) ?? 0);
  const range = (side: 'a'|'b'): Column<PhasePair> => ({
    title: side === 'a' ? a : b,
    class: 'bars',
    key: (one) => read_(one[side], (levels) => levels.peak_live),
    fill: (cell, one) => {
      const there = one[side];
      if (there !== null) cell.append(rangeBar(there.levels, highest));
    }
  });
  const peak = (levels: PhaseLevels['levels']) => levels.peak_live;
  const kept = (levels: PhaseLevels['levels']) => levels.net;
  const temporary = (levels: PhaseLevels['levels']) => levels.transient;
  return table<PhasePair>({
    id: 'pair',
    rows: pairs,
    caption: `${a} and ${b} by phase, ${laneWords(of.memory, of.measure)}, ${unit.name}`,
    announce: (text) => app.announce(text),
    columns: [
      textColumn('phase', (one) => pathWords(one.path), (one) => name(pathWords(one.path))), range('a'),
      range('b'), column(`peak, ${a}`, 'a', peak), column(`peak, ${b}`, 'b', peak),
      changeColumn('change', unit, difference(peak)), signed(`kept, ${a}`, 'a', kept),
      signed(`kept, ${b}`, 'b', kept), column(`temporary, ${a}`, 'a', temporary),
      column(`temporary, ${b}`, 'b', temporary)
    ]
  });
}

function stepTitle(step: Step): string {
  return step === 'steady' ? 'typical step' : step === null ? 'no step' : `step ${count(step)}`;
}

function selects(app: App, steps: Step[], of: Chosen): HTMLElement {
  const go = (a: Step, b: Step) => app.go({choice: `steps:${of.memory}/${of.measure},${a},${b}`});
  const select = (side: 'a'|'b', label: string) => {
    const made = element('select', {attributes: {id: `step-${side}`, 'aria-label': label}});
    for (const step of steps)
      made.append(element('option', {text: stepTitle(step), attributes: {value: String(step)}}));
    made.value = String(of[side]);
    made.addEventListener('change', () => {
      const step = readStep(made.value) ?? null;
      go(side === 'a' ? step : of.a, side === 'b' ? step : of.b);
    });
    return element('label', {class: 'field'}, [element('span', {text: label}), made]);
  };
  return element('div', {class: 'controls'}, [select('a', 'Compare'), select('b', 'with')]);
}

function typicalWords(process: Process): string {
  const row = process.phases.find((one) => one.step === 'steady');
  if (row === undefined) return '';
  const [from, to] = row.bucket ?? [null, null];
  return from === null || to === null ?
      '' :
      `Typical: the median of the steps ${count(from)} to ${count(to)} that are alike.`;
}

function scale(rows: readonly PhaseLevels[]): string {
  const highest = rows.reduce((most, one) => Math.max(most, one.levels.peak_live), 0);
  const words = 'The bar goes from the level at entry to the peak; the tick is the level at exit.';
  return `${words} Scale: 0 to ${size(highest)}.`;
}

function lanesOf(process: Process): {value: string; title: string}[] {
  return memoriesOf(process).flatMap(
      (memory) => (['tensor', 'live'] as const)
                      .filter((measure) => phaseLevels(process, memory, measure).length > 0)
                      .map((measure) => ({value: `${memory}/${measure}`, title: laneWords(memory, measure)})));
}

function build(app: App, current: Current, choice: string): Node[] {
  const {report, namer} = current;
  if (report === null || namer === null) return [element('p', {text: 'This process has no report.'})];
  const of = chosen(current, report, choice);
  const rows = phaseLevels(report, of.memory, of.measure);
  const out: Node[] = [element('h2', {text: 'Steps and phases'})];
  const lanes = lanesOf(report);
  if (lanes.length > 1)
    out.push(element(
        'div', {class: 'controls'}, [chooser(
                                        'steps-of', 'Levels of', lanes, `${of.memory}/${of.measure}`,
                                        (value) => app.go({choice: `steps:${value},${of.a},${of.b}`}))]));
  const lane = laneOf(current.info, of.memory, of.measure);
  const drift = lane < 0 ? null : driftOf(app.page.block, current.index, lane);
  if (drift !== null && drift.level.length > 1) out.push(driftStrip(app, current.index, lane, drift));
  if (rows.length === 0)
    return [
      ...out, element('p', {
        text: 'The trace has no phase with a level. Phases come from PyTorch, or from marks of the program.'
      })
    ];
  const steps = comparableSteps(report, of.memory, of.measure);
  if (steps.length > 1) {
    const pairs = phasePairs(report, of.memory, of.measure, of.a, of.b);
    out.push(element('section', {class: 'card'}, [
      element('h2', {text: 'Two steps, phase by phase'}), selects(app, steps, of),
      ...(pairs.length > 0 ? [stepChart(pairs, stepTitle(of.a), stepTitle(of.b))] : []),
      pairTable(app, pairs, of)
    ]));
  }
  out.push(element('section', {class: 'card'}, [
    element('h2', {text: 'All phases of these steps'}),
    element('p', {class: 'muted', text: `${typicalWords(report)} ${scale(rows)}`}),
    phaseTable(app, namer, rows, of)
  ]));
  return out;
}

function make(app: App): View { return built(app, 'steps', (current, choice) => build(app, current, choice)); }

export const stepsTab: Tab = {
  id: 'steps',
  title: 'Steps',
  offered: hasReport,
  make
};
