// Purpose: the tab of differences: two runs, and the first step against a typical one.

import {documentsOf} from '../report/current';
import {DiffDocument, DiffRow} from '../report/answers';
import {framesOf, namesOf, SiteNames, titleOf} from '../report/sites';
import type {App, Tab, View} from '../state/app';
import {bytesColumn, changeColumn, Column, putBytes, textColumn} from '../table/column';
import {sorted} from '../table/sort';
import {table} from '../table/table';
import {bandOf, measureWords, memoryWords, phaseWords, useOf} from '../wording/labels';
import {inUnit, signedInUnit, signedSize, Unit, unitFor} from '../wording/units';
import {built} from './built';
import {bytes, element, name, swatch} from '../dom/element';
import {stack} from './frames';

type Named = (row: DiffRow) => SiteNames;

// A side is called "train.py pid 7, in update 0".
function scriptsOf(document: DiffDocument): string[] {
  return [document.a, document.b]
      .map((side) => /^(\S+\.py)\b/.exec(side)?.[1])
      .filter((one): one is string => one !== undefined);
}

function namer(document: DiffDocument): Named {
  const scripts = scriptsOf(document);
  const known = new Map<DiffRow, SiteNames>();
  return (row) => {
    let found = known.get(row);
    if (found === undefined) known.set(row, found = namesOf(framesOf(null, row.site), scripts));
    return found;
  };
}

// A bar from the middle: to the right and "+" for growth, to the left and "-" for shrinkage.
function changeBar(change: number, largest: number): HTMLElement {
  const made = element('span', {
    class: `change-bar ${
        change > 0     ? "grew" :
            change < 0 ? "shrank" :
                         "same"}`,
    attributes: {'aria-hidden': 'true'}
  });
  made.style.setProperty('--share', String(Math.abs(change) / Math.max(1, largest)));
  made.append(element('span', {class: 'fill'}));
  return made;
}

function whatOf(row: DiffRow, tensors: boolean): string {
  return row.site === null && row.role === 'unknown' ? 'small blocks' : useOf(row, tensors);
}

function columns(document: DiffDocument, unit: Unit, largest: number, names: Named, sides: readonly string[]):
    Column<DiffRow>[] {
  const tensors = document.measure === 'tensor';
  return [
    textColumn(
        'what', (row) => whatOf(row, tensors),
        (row) => element(
            'span', {class: 'use'},
            [
              swatch(row.site === null && row.role === 'unknown' ? 'unattributed' : bandOf(row, tensors)),
              name(whatOf(row, tensors))
            ])),
    bytesColumn(sides[0], unit, (row) => row.bytes_a), bytesColumn(sides[1], unit, (row) => row.bytes_b),
    {...changeColumn<DiffRow>('change', unit, (row) => row.change), key: (row) => row.change}, {
      title: 'size of change',
      class: 'bars',
      hint: 'sorts by the size of the change, whatever its sign',
      key: (row) => Math.abs(row.change),
      number: true,
      fill: (cell, row) => cell.append(changeBar(row.change, largest))
    },
    textColumn(
        'phase',
        (row) => row.phase === null ? '' :
            row.phase === 'other'   ? 'outside' :
                                      phaseWords(row.phase)),
    textColumn('your line', (row) => names(row).own, (row) => name(names(row).own, 60), {optional: true}),
    textColumn(
        'allocated by', (row) => titleOf(names(row)), (row) => name(titleOf(names(row)), 90),
        {class: 'wide', optional: true}),
    textColumn(
        'counted', (row) => row.how === 'sampled' ? `sampled, \u00b1${inUnit(row.error ?? 0, unit)}` : '',
        undefined, {optional: true})
  ];
}

function rowsTable(app: App, document: DiffDocument, id: string): HTMLElement {
  const names = namer(document);
  const sum = (of: (row: DiffRow) => number) => document.rows.reduce((so_far, row) => so_far + of(row), 0);
  const a = document.sides?.[0]?.bytes ?? sum((row) => row.bytes_a),
        b = document.sides?.[1]?.bytes ?? sum((row) => row.bytes_b);
  const unit = unitFor(Math.max(a, b));
  const largest = document.rows.reduce((most, row) => Math.max(most, Math.abs(row.change)), 0);
  const put = (amount: number, shown: string, css = '') => (cell: HTMLElement) => {
    putBytes(cell, amount, shown);
    if (css !== '') cell.classList.add(css);
  };
  const total = document.total;
  const footer = [{
    title: 'total',
    class: 'total',
    fill: [
      put(a, inUnit(a, unit)), put(b, inUnit(b, unit)),
      put(total, signedInUnit(total, unit),
          total > 0     ? 'grew' :
              total < 0 ? 'shrank' :
                          'same')
    ]
  }];
  const sides = [document.sides?.[0]?.name ?? 'A', document.sides?.[1]?.name ?? 'B'];
  return table({
    id,
    rows: sorted(document.rows, (row) => Math.abs(row.change), true),
    footer,
    announce: (text) => app.announce(text),
    columns: columns(document, unit, largest, names, sides),
    caption: `${sides[1]} against ${sides[0]}, ${unit.name}, the largest change first`,
    details: (row) => stack(framesOf(null, row.site)),
    opens: (row) => row.site !== null,
    empty: 'no row differs'
  });
}

function describe(document: DiffDocument): HTMLElement[] {
  const change = document.total;
  const what = document.measure === undefined ? 'memory' : measureWords(document.measure);
  const head = element('p', {class: 'headline'}, [
    change === 0 ? 'No change' : `${signedSize(change)}`, ` of ${what} at the peak`,
    document.memory === 'host' ? '' : ` of ${memoryWords(document.memory)}`
  ]);
  const side = (letter: string, where: string, amount: number|undefined) => {
    const line = element('li', {}, [element('strong', {text: letter}), ' ', name(where, 300)]);
    if (amount !== undefined) line.append(': ', bytes(amount));
    return line;
  };
  const sides = document.sides ?? [];
  const list = element('ul', {class: 'sides'}, [
    side(sides[0]?.name ?? 'A', document.a, sides[0]?.bytes),
    side(sides[1]?.name ?? 'B', document.b, sides[1]?.bytes)
  ]);
  return [head, list];
}

function firstStep(document: DiffDocument): HTMLElement[] {
  if (document.first_step === null || document.first_step === undefined) return [];
  const {for_good, only_then} = document.first_step;
  return [element('p', {class: 'lead'}, [
    'The first step added ', bytes(for_good), ' for good, and ', bytes(only_then),
    ' that a typical step does not need.'
  ])];
}

function section(app: App, title: string, document: DiffDocument, id: string): HTMLElement {
  return element('section', {class: 'card', data: {diff: id}}, [
    element('h2', {text: title}), ...firstStep(document), ...describe(document), rowsTable(app, document, id)
  ]);
}

function build(app: App): Node[] {
  const {diff, firstVsSteady} = documentsOf(app.page);
  const out: Node[] = [];
  if (diff !== null) out.push(section(app, 'Two runs', diff, 'diff'));
  if (firstVsSteady !== null)
    out.push(section(app, 'First step against a typical step', firstVsSteady, 'first-vs-steady'));
  return out.length > 0 ? out : [element('p', {text: 'The page has nothing to compare.'})];
}

function make(app: App): View { return built(app, 'diff', () => build(app)); }

function offered(page: App['page']): boolean {
  const {diff, firstVsSteady} = documentsOf(page);
  return diff !== null || firstVsSteady !== null;
}

export const diffTab: Tab = {
  id: 'diff',
  title: 'Differences',
  offered,
  make
};
