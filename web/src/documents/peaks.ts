// Purpose: the tab of the peaks: what was alive at each, by line, site, role or phase.

import {Current, hasReport} from '../report/current';
import {Peak, Process} from '../report/document';
import {Holder, HolderKey, holders, SiteNamer} from '../report/holders';
import {leadingPeak, touchedBytes} from '../report/levels';
import type {App, Tab, View} from '../state/app';
import {Column, bytesColumn, numberColumn, putBytes, textColumn} from '../table/column';
import {table} from '../table/table';
import {laneWords, since, when} from '../wording/labels';
import {count, inUnit, percent, Unit, unitFor} from '../wording/units';
import {built, Choice, chooser} from './built';
import {bar, button, bytes, element, name, swatch} from '../dom/element';
import {atInstant, laneOf} from './moment';
import {stack} from './frames';

interface KeyChoice extends Choice {
  readonly value: HolderKey;
}

const KEYS: readonly KeyChoice[] = [
  {value: 'line', title: 'your line'}, {value: 'site', title: 'stack'}, {value: 'role', title: 'role'},
  {value: 'phase', title: 'phase'}
];

function titleOf(peak: Peak): string { return laneWords(peak.memory, peak.measure); }

function keyOf(peak: Peak): string { return `${peak.memory}/${peak.measure}`; }

/** Returns "update 0 to 7" for blocks that were born in several steps. */
export function born(holder: Holder): string {
  const first = since(holder.phase, holder.firstStep);
  return holder.firstStep === holder.lastStep || holder.lastStep === null ?
      first :
      `${first} to ${count(holder.lastStep)}`;
}

function allocatedBy(holder: Holder): string {
  const more = holder.allocators > 1 ? ` +${holder.allocators - 1} more` : '';
  if (holder.rest && holder.sampled) return 'small sites, not named';
  if (holder.rest && holder.blocks === 0) return 'counted, not recorded one by one';
  if (holder.rest) return `smaller sites, ${count(holder.blocks)} blocks`;
  return (holder.allocator === '' && holder.line === '' ? 'no stack' : holder.allocator) + more;
}

function use(holder: Holder): Node {
  return element('span', {class: 'use'}, [swatch(holder.band), name(holder.use)]);
}

function how(holder: Holder, unit: Unit): string {
  return holder.sampled ? `sampled, \u00b1${inUnit(holder.error, unit)}` : '';
}

/** `parameters`: bytes of the model's parameters, for a column in multiples of them; 0 leaves it out. */
export function holderColumns(
    by: HolderKey, unit: Unit, total: number, parameters: number, largest: number): Column<Holder>[] {
  const share = (one: Holder) =>
      bar(one.bytes / Math.max(1, largest), {class: `band-${one.band.replace(/ /g, "-")}`});
  const columns: Column<Holder>[] = [];
  if (by === 'phase')
    columns.push(textColumn('phase', (one) => when(one.phase, null)));
  else
    columns.push(textColumn('what', (one) => one.use, use));
  columns.push(bytesColumn(unit.name, unit, (one) => one.bytes), {
    ...numberColumn<Holder>('%', 1, (one) => total > 0 ? 100 * one.bytes / total : null),
    hint: 'of the peak'
  });
  if (parameters > 0)
    columns.push({
      ...numberColumn<Holder>('\u00d7 P', 3, (one) => one.bytes / parameters),
      hint: 'multiples of the bytes of all parameters'
    });
  columns.push(
      {title: '', class: 'bars', key: (one) => one.bytes, fill: (cell, one) => cell.append(share(one))});
  columns.push({...numberColumn<Holder>('blocks', 0, (one) => one.rest ? null : one.blocks), optional: true});
  if (by === 'line' || by === 'site') {
    columns.push(
        textColumn('since', born, undefined, {optional: true}),
        textColumn('your line', (one) => one.line, (one) => name(one.line, 60), {optional: true}),
        textColumn('allocated by', allocatedBy, (one) => name(allocatedBy(one), 90), {class: 'wide'}));
  }
  columns.push(textColumn(
      'counted', (one) => how(one, unit), undefined,
      {optional: true, hint: 'How the figure was found; empty: each block was measured'}));
  return columns;
}

/** True unless the row stands for blocks that were only counted. */
export function hasStack(holder: Holder): boolean { return !holder.rest; }

/** The stacks of one row, the largest first. */
export function holderStacks(namer: SiteNamer, holder: Holder): HTMLElement {
  const rows = [...holder.rows].sort((a, b) => b.bytes - a.bytes);
  const out = element('div', {class: 'stacks'});
  const most = 5;
  for (const row of rows.slice(0, most)) {
    const head = element(
        'p', {}, [bytes(row.bytes), ` in ${count(row.blocks)} ${row.blocks === 1 ? "block" : "blocks"}`]);
    if (row.asked > 0 && row.asked !== row.bytes) head.append(', ', bytes(row.asked), ' asked for');
    out.append(head, stack(namer.framesOf(row)));
  }
  if (rows.length > most)
    out.append(element(
        'p', {class: 'muted', text: `${count(rows.length - most)} more stacks: choose \u201cstack\u201d`}));
  return out;
}

function peakTable(app: App, namer: SiteNamer, process: Process, peak: Peak, by: HolderKey): HTMLElement {
  const tensors = peak.measure === 'tensor';
  const unit = unitFor(peak.bytes);
  const rows = holders(namer, peak.at_peak, by, tensors);
  const parameters = tensors ? process.parameters?.bytes ?? 0 : 0;
  const columns = holderColumns(by, unit, peak.bytes, parameters, rows[0]?.bytes ?? 0);
  const sum = rows.reduce((so_far, row) => so_far + row.bytes, 0);
  const fill = columns.slice(1).map((column) => {
    if (column.title === unit.name) return (cell: HTMLElement) => putBytes(cell, sum, inUnit(sum, unit));
    if (column.title === '%') return (cell: HTMLElement) => void (cell.textContent = percent(sum, peak.bytes));
    return null;
  });
  const footer = [{title: 'total', fill}];
  return table({
    id: 'peak',
    columns,
    rows,
    footer,
    announce: (text) => app.announce(text),
    caption: `Alive at the peak of ${titleOf(peak)}, ${unit.name}`,
    sort: {column: 1, descending: true},
    empty: 'The trace has no list of what was alive then.',
    details: by === 'line' || by === 'site' ? (row) => holderStacks(namer, row) : undefined,
    opens: hasStack
  });
}

function build(app: App, current: Current, choice: string): Node[] {
  const {report, namer} = current;
  const peaks = (report?.peaks ?? []).filter((one) => one.bytes > 0);
  if (report === null || namer === null || peaks.length === 0)
    return [element('p', {text: 'The trace has no peak.'})];
  const [wanted, key] = choice.split(',');
  const lead = leadingPeak(report, current.info.lanes.find((lane) => lane.leads)?.memory ?? 'host');
  const peak = peaks.find((one) => keyOf(one) === wanted) ?? lead ?? peaks[0];
  const by = KEYS.find((one) => one.value === key)?.value ?? 'line';
  const go = (to: Peak, how: string) => app.go({choice: `peaks:${keyOf(to)},${how}`});
  const find = (value: string) => peaks.find((one) => keyOf(one) === value) ?? peak;
  const head = element('p', {class: 'lead'}, [
    bytes(peak.bytes), ` of ${titleOf(peak)} at most, ${during(peak)}`,
    ...atInstant(app, current.index, peak.t, laneOf(current.info, peak.memory, peak.measure)), '.'
  ]);
  const untouched = peak.reserved_untouched ?? 0;
  if (untouched > 0)
    head.append(
        ' Of it ', bytes(untouched), ' were reserved and never touched: the headline counts ',
        bytes(touchedBytes(peak)), '.');
  const controls = element('div', {class: 'controls'}, [
    chooser(
        'peak-of', 'Peak of', peaks.map((one) => ({value: keyOf(one), title: titleOf(one)})), keyOf(peak),
        (value) => go(find(value), by)),
    chooser('peak-by', 'Rows by', KEYS, by, (value) => go(peak, value))
  ]);
  if (peak.at_peak.length === 0) {
    const parts =
        peak.measure === 'rss' ? 'The kernel measures what is resident. ' : 'No list of blocks was kept. ';
    head.append(' ', parts, button('Its parts are in the ledger', () => app.go({tab: 'ledger'})));
    return [element('h2', {text: 'Peaks'}), controls, head];
  }
  return [element('h2', {text: 'Peaks'}), controls, head, peakTable(app, namer, report, peak, by)];
}

/** Returns "in update 0", or "outside training". */
function during(peak: Peak): string {
  const words = when(peak.phase, peak.step);
  return words.startsWith('outside') ? words : `in ${words}`;
}

function make(app: App): View { return built(app, 'peaks', (current, choice) => build(app, current, choice)); }

export const peaksTab: Tab = {
  id: 'peaks',
  title: 'Peaks',
  offered: hasReport,
  make
};
