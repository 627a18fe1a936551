// Purpose: the tab of the ledger: the parts of the resident memory, their sum, the measured total, the
// residual.

import {Current, documentsOf, hasReport} from '../report/current';
import {Ledger, LedgerRow} from '../report/document';
import type {App, Tab, View} from '../state/app';
import {bytesColumn, Column, numberColumn, putBytes, textColumn} from '../table/column';
import {table} from '../table/table';
import {memoryWords} from '../wording/labels';
import {count, fixed, inUnit, percent, Unit, unitFor} from '../wording/units';
import {built} from './built';
import {bar, bytes, element, name, sentence} from '../dom/element';
import {instantButton} from './moment';

const SCOPES: Record<string, string> = {
  process: 'Resident memory of the process',
  family: 'Processes together (PSS: each shared page counts once)',
  cgroup: 'Charged to the cgroup',
  node: 'Used on the machine',
  device: 'Used on the device'
};
const INSTANTS: Record<string, string> = {
  peak_rss: 'at its highest',
  peak_live: 'at the peak of allocations',
  end: 'at the end',
  death: 'before its death'
};
const TOTALS: Record<string, string> = {
  process: 'VmRSS, by the kernel',
  family: 'PSS, by the kernel',
  cgroup: 'charge, by the kernel'
};

function titleOf(ledger: Ledger): string {
  const memory = ledger.memory === 'host' ? '' : ` (${memoryWords(ledger.memory)})`;
  return `${SCOPES[ledger.scope] ?? ledger.scope}${memory}, ${INSTANTS[ledger.at] ?? ledger.at}`;
}

// The given bytes of a row, if more than 2 % of them are not resident.
function given(row: LedgerRow): number|null {
  return row.given === undefined || row.given <= row.bytes + row.bytes / 50 ? null : row.given;
}

function columns(unit: Unit, total: number, largest: number): Column<LedgerRow>[] {
  return [
    textColumn('part', (row) => row.name, (row) => name(row.name)),
    bytesColumn(unit.name, unit, (row) => row.bytes), {
      ...numberColumn<LedgerRow>('%', 1, (row) => total > 0 ? 100 * row.bytes / total : null),
      hint: 'of the measured total'
    },
    {
      title: '',
      class: 'bars',
      key: (row) => row.bytes,
      fill: (cell, row) => cell.append(bar(row.bytes / Math.max(1, largest)))
    },
    textColumn('how', (row) => row.how, undefined, {hint: 'sampled: scaled up from a sample'}),
    bytesColumn(
        'given', unit, given,
        {optional: true, hint: 'allocated; shown where more than 2 % of it is not resident'}),
    numberColumn('blocks', 0, (row) => row.parts ?? null, {optional: true})
  ];
}

// Sum, measured total and residual: the ledger closes if the residual is small.
function closing(ledger: Ledger, unit: Unit) {
  const sum = ledger.rows.reduce((so_far, row) => so_far + row.bytes, 0);
  const line = (title: string, amount: number, how: string, css = '') => ({
    title,
    class: css,
    fill: [
      (cell: HTMLElement) => putBytes(cell, amount, inUnit(amount, unit)),
      (cell: HTMLElement) => void (cell.textContent = percent(amount, ledger.total)), null,
      (cell: HTMLElement) => void (cell.textContent = how)
    ]
  });
  return [
    line('sum of the parts', sum, 'sum'),
    line('residual: not explained', ledger.residual, 'total less sum', 'residual'),
    line(TOTALS[ledger.scope] ?? 'measured total', ledger.total, 'measured', 'total')
  ];
}

function section(app: App, current: Current|null, ledger: Ledger, number: number): HTMLElement {
  const unit = unitFor(ledger.total);
  const head = element('p', {class: 'lead'}, [
    bytes(ledger.total), ' measured, of which ', bytes(ledger.residual),
    ` (${ledger.total > 0 ? fixed(100 * ledger.residual / ledger.total, 1) : "0.0"} %) are not explained`
  ]);
  if (ledger.t !== undefined && current !== null)
    head.append(', ', instantButton(app, current.index, ledger.t));
  head.append('.');
  const highest = ledger.high_water ?? 0;
  if (highest > ledger.total && ledger.at === 'peak_rss' && ledger.scope === 'process')
    head.append(
        " VmHWM, the kernel's record of the highest, is ", bytes(highest), ': memtrace took no ledger then.');
  else if (highest > ledger.total && ledger.at === 'peak_rss')
    head.append(' Between samples, or before this program, the kernel counted ', bytes(highest), '.');
  const title = element('h2', {}, [titleOf(ledger)]);
  if (ledger.of && ledger.scope !== 'node')
    title.append(' ', element('small', {class: 'muted'}, [name(ledger.of, 80)]));
  const largest = ledger.rows.reduce((most, row) => Math.max(most, row.bytes), 0);
  const rows = table({
    id: `ledger-${number}`,
    rows: ledger.rows,
    columns: columns(unit, ledger.total, largest),
    footer: closing(ledger, unit),
    caption: `${titleOf(ledger)}, ${unit.name}`,
    announce: (text) => app.announce(text)
  });
  const remarks = (ledger.remarks ?? []).map((one) => element('p', {class: 'muted'}, [sentence(one)]));
  return element(
      'section', {class: 'card', data: {scope: ledger.scope, at: ledger.at}}, [title, head, rows, ...remarks]);
}

function build(app: App, current: Current): Node[] {
  const own = current.report?.ledger ?? [];
  const shared = documentsOf(app.page).report?.ledger ?? [];
  const out: Node[] = [];
  own.forEach((one, number) => out.push(section(app, current, one, number)));
  shared.forEach((one, number) => out.push(section(app, null, one, own.length + number)));
  if (out.length > 0) return out;
  const events = count(current.report?.trace.events ?? 0);
  return [element('p', {
    text: `The trace has no ledger: of its ${events} events, none is a measurement of the resident memory.`
  })];
}

function make(app: App): View { return built(app, 'ledger', (current) => build(app, current)); }

export const ledgerTab: Tab = {
  id: 'ledger',
  title: 'Ledger',
  offered: hasReport,
  make
};
