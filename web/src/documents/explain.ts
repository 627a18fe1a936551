// Purpose: the tab that compares bytes per parameter with theory.

import {Current, documentsOf} from '../report/current';
import {ExplainDocument} from '../report/answers';
import {ParameterRow} from '../report/document';
import {scriptsOf} from '../report/holders';
import {namesOf, SiteNames, titleOf} from '../report/sites';
import {headline, nameOf} from '../report/theory';
import type {App, Tab, View} from '../state/app';
import {bytesColumn, Column, numberColumn, putBytes, textColumn} from '../table/column';
import {table} from '../table/table';
import {bandOf, memoryWords, since} from '../wording/labels';
import {count, fixed, inUnit, Unit, unitFor} from '../wording/units';
import {built} from './built';
import {bytes, element, name, swatch} from '../dom/element';
import {stack} from './frames';

const STATES: Record<string, string> = {
  kept_by_malloc: 'not given back to the kernel',
  kept_by_pinned_cache: 'in PyTorch\u2019s cache of pinned memory'
};

/** True for memory that the program freed, and an allocator keeps. */
function isRetained(row: ParameterRow): boolean { return STATES[row.state] !== undefined; }

function bandOfRow(row: ParameterRow): string { return isRetained(row) ? 'cache' : bandOf(row); }

class Named {
  private readonly known = new Map<ParameterRow, SiteNames>();

  constructor(private readonly current: Current) {}

  names(row: ParameterRow): SiteNames {
    let found = this.known.get(row);
    if (found === undefined) {
      const frames = this.frames(row);
      found = namesOf(frames, scriptsOf(this.current.report));
      this.known.set(row, found);
    }
    return found;
  }

  readonly allocatedBy = (row: ParameterRow) => STATES[row.state] ?? titleOf(this.names(row));

  frames(row: ParameterRow) {
    return row.site?.frames ?? (row.site === null ? [] : this.current.namer?.framesOf(row) ?? []);
  }
}

// Two bars on one scale: what is there, and what theory asks for.
function versus(row: ParameterRow, most: number): HTMLElement {
  const made = element(
      'span', {class: `versus band-${bandOfRow(row).replace(/ /g, "-")}`, attributes: {'aria-hidden': 'true'}});
  made.style.setProperty('--share', String(Math.min(1, row.per_parameter / most)));
  made.style.setProperty('--theory', String(Math.min(1, (row.theory ?? 0) / most)));
  made.append(element('span', {class: 'there'}));
  if (row.theory !== null) made.append(element('span', {class: 'theory'}));
  return made;
}

function columns(named: Named, unit: Unit, most: number): Column<ParameterRow>[] {
  return [
    textColumn(
        'what', nameOf, (row) => element('span', {class: 'use'}, [swatch(bandOfRow(row)), name(nameOf(row))])),
    bytesColumn('asked', unit, (row) => row.asked, {hint: 'asked of the allocator'}),
    bytesColumn('resident', unit, (row) => row.resident),
    numberColumn('bytes per parameter', 2, (row) => row.per_parameter),
    numberColumn('theory', 2, (row) => row.theory), {
      title: '',
      class: 'bars',
      key: (row) => row.per_parameter,
      fill: (cell, row) => cell.append(versus(row, most))
    },
    textColumn('since', (row) => isRetained(row) ? 'freed' : since(row.phase, row.step)),
    textColumn(
        'your line', (row) => named.names(row).own, (row) => name(named.names(row).own, 60), {optional: true}),
    textColumn(
        'allocated by', named.allocatedBy, (row) => name(named.allocatedBy(row), 90),
        {class: 'wide', optional: true})
  ];
}

function rowsTable(app: App, document: ExplainDocument, named: Named, kept: boolean): HTMLElement {
  const rows = document.rows.filter((row) => row.kept === kept);
  const sum = (of: (row: ParameterRow) => number) => rows.reduce((so_far, row) => so_far + of(row), 0);
  const asked = sum((row) => row.asked), resident = sum((row) => row.resident);
  const unit = unitFor(resident);
  const most =
      document.rows.reduce((so_far, row) => Math.max(so_far, row.per_parameter, row.theory ?? 0), 0.01);
  const number = (value: number|null|undefined) => (cell: HTMLElement) =>
      void (cell.textContent = value === null || value === undefined ? '' : fixed(value, 2));
  const total = {
    title: 'kept',
    class: 'total',
    fill: [
      (cell: HTMLElement) => putBytes(cell, asked, inUnit(asked, unit)),
      (cell: HTMLElement) => putBytes(cell, resident, inUnit(resident, unit)), number(document.kept),
      number(document.theory)
    ]
  };
  return table({
    id: kept ? 'explain-kept' : 'explain-freed',
    rows,
    columns: columns(named, unit, most),
    footer: kept ? [total] : undefined,
    caption: `${kept ? "Kept" : "Not kept"}, ${unit.name}`,
    announce: (text) => app.announce(text),
    details: (row) => stack(named.frames(row)),
    opens: (row) => row.site !== null
  });
}

function facts(document: ExplainDocument): HTMLElement {
  const line = element('p', {class: 'lead'});
  const parameters = document.parameters?.count ?? 0;
  const types = Object.keys(document.parameters?.by_dtype ?? {});
  if (document.setup !== null)
    line.append(
        'Setup seen: ', name([document.setup.optimizer ?? 'no optimizer', ...types].join(', ')),
        `; ${memoryWords(document.setup.memory)}${
            document.setup.after_step === null ? "" : `, after update ${count(document.setup.after_step)}`}. `);
  if (parameters > 0)
    line.append(`P = ${count(parameters)} parameters: 1 byte per parameter is `, bytes(parameters), '.');
  return line;
}

function build(app: App, current: Current): Node[] {
  const document = documentsOf(app.page).explain;
  if (document === null)
    return [element('p', {text: 'memtrace saw no model, so there are no bytes per parameter.'})];
  const named = new Named(current);
  const out: Node[] = [
    element('h2', {text: 'Bytes per parameter'}),
    element('p', {class: 'headline'}, [name(headline(document), 300)]), facts(document)
  ];
  out.push(element('section', {class: 'card'}, [rowsTable(app, document, named, true)]));
  if (document.rows.some((row) => !row.kept))
    out.push(element(
        'section', {class: 'card'},
        [element('h2', {text: 'Needed only for a while'}), rowsTable(app, document, named, false)]));
  const rest = element('p', {class: 'muted'});
  if (document.not_per_parameter !== undefined)
    rest.append('Alive beside, and not per parameter: ', bytes(document.not_per_parameter), '. ');
  rest.append('Unaccounted: ', `${fixed(document.unaccounted, 2)} bytes per parameter.`);
  out.push(rest);
  return out;
}

function make(app: App): View { return built(app, 'explain', (current) => build(app, current)); }

export const explainTab: Tab = {
  id: 'explain',
  title: 'Per parameter',
  offered: (page) => documentsOf(page).explain !== null,
  make
};
