// Purpose: the tab of the death: what ended the process, the evidence, who held memory, the last allocations.

import {Current, documentsOf} from '../report/current';
import {Death, Process, Row} from '../report/document';
import {holders, SiteNamer} from '../report/holders';
import {titleOf} from '../report/sites';
import type {App, Tab, View} from '../state/app';
import {bytesColumn, putBytes, textColumn} from '../table/column';
import {table} from '../table/table';
import {endWords, laneWords, phaseWords} from '../wording/labels';
import {duration, fixed, inUnit, percent, unitFor} from '../wording/units';
import {built} from './built';
import {button, bytes, element, name, sentence} from '../dom/element';
import {growthChart} from './growth_chart';
import {goTo} from './moment';
import {hasStack, holderColumns, holderStacks} from './peaks';
import {stack} from './frames';

function evidence(process: Process): HTMLElement {
  const list =
      element('ul', {class: 'evidence'}, process.end.evidence.map((one) => element('li', {}, [sentence(one)])));
  const none =
      element('p', {class: 'muted', text: 'No source outside of the process says anything of its end.'});
  return element(
      'section', {class: 'card'},
      [element('h2', {text: 'Evidence'}), process.end.evidence.length === 0 ? none : list]);
}

function entry(title: string, ...value: (Node|string)[]): HTMLElement {
  return element('div', {}, [element('dt', {text: title}), element('dd', {}, value)]);
}

function figures(death: Death): HTMLElement {
  const list = element('dl', {class: 'figures'});
  const memory = death.memory ?? 'host';
  list.append(
      entry(laneWords(memory, 'live'), bytes(death.live)),
      entry(laneWords(memory, 'tensor'), bytes(death.tensor)));
  if (death.rss !== null && death.rss.anon + death.rss.file > 0) {
    const {anon, file, shmem} = death.rss;
    list.append(entry('resident, anonymous', bytes(anon)), entry('resident, file pages', bytes(file)));
    if (shmem > 0) list.append(entry('resident, shared memory', bytes(shmem)));
  }
  if (death.limit !== null && death.limit > 0)
    list.append(entry(
        'limit', bytes(death.limit), death.limit_of ? ' of ' : '',
        death.limit_of ? name(death.limit_of, 80) : ''));
  return list;
}

function filling(death: Death, namer: SiteNamer): HTMLElement[] {
  const block = death.filling;
  if (block === null) return [];
  const names = namer.namesOf(block);
  const line = element('p', {}, [
    'It was filling a block of ', bytes(block.bytes),
    ...(block.touched === null ? [] : [', of which ', bytes(block.touched), ' were touched']), ': ',
    name(titleOf(names))
  ]);
  if (names.own !== '' && names.own !== names.where) line.append(' \u2190 ', name(names.own));
  return [element(
      'section', {class: 'card'},
      [element('h2', {text: 'The last block'}), line, stack(namer.framesOf(block))])];
}

function held(
    app: App, namer: SiteNamer, rows: readonly Row[], tensors: boolean, memory: string): HTMLElement[] {
  if (rows.length === 0) return [];
  const sums = holders(namer, rows, 'line', tensors);
  const total = rows.reduce((so_far, row) => so_far + row.bytes, 0);
  const unit = unitFor(total);
  const columns = holderColumns('line', unit, total, 0, sums[0]?.bytes ?? 0);
  const fill = columns.slice(1).map(
      (column) => column.title === unit.name ?
          (cell: HTMLElement) => putBytes(cell, total, inUnit(total, unit)) :
          column.title === '%' ? (cell: HTMLElement) => void (cell.textContent = percent(total, total)) :
                                 null);
  const hostTitle = tensors ? 'Tensors held at the death' : 'Held at the death, tensors included';
  const title =
      memory === 'host' ? hostTitle : `Held at the death: ${laneWords(memory, tensors ? "tensor" : "live")}`;
  return [element('section', {class: 'card'}, [
    element('h2', {text: title}), table({
      id: tensors ? 'held-tensor' : 'held',
      rows: sums,
      columns,
      caption: `${title}, ${unit.name}`,
      sort: {column: 1, descending: true},
      footer: [{title: 'total', fill}],
      announce: (text) => app.announce(text),
      details: (row) => holderStacks(namer, row),
      opens: hasStack
    })
  ])];
}

function last(app: App, namer: SiteNamer, death: Death): HTMLElement[] {
  if (death.last.length === 0) return [];
  const unit = unitFor(death.last.reduce((most, one) => Math.max(most, one.bytes), 0));
  type One = Death['last'][number];
  const before = (one: One) => duration(Math.max(0, death.t - one.t));
  return [element('section', {class: 'card'}, [
    element('h2', {text: 'Last allocations'}), table<One>({
      id: 'last',
      rows: death.last,
      caption: `Last allocations, the newest first, ${unit.name}`,
      announce: (text) => app.announce(text),
      columns: [
        {
          title: 'before the end',
          key: (one) => death.t - one.t,
          fill: (cell, one) => void (cell.textContent = before(one))
        },
        bytesColumn(unit.name, unit, (one) => one.bytes),
        textColumn(
            'your line', (one) => namer.namesOf(one).own, (one) => name(namer.namesOf(one).own, 60),
            {optional: true}),
        textColumn(
            'allocated by', (one) => titleOf(namer.namesOf(one)),
            (one) => name(titleOf(namer.namesOf(one)), 90), {class: 'wide'})
      ],
      details: (one) => stack(namer.framesOf(one))
    })
  ])];
}

function remedies(process: Process): HTMLElement[] {
  const found = process.findings.filter((one) => one.remedy !== '');
  if (found.length === 0) return [];
  const list = element(
      'ul', {class: 'evidence'},
      found.map((one) => element('li', {}, [
                  sentence(one.title), '. ', element('strong', {text: 'Fix'}), ' ', sentence(one.remedy)
                ])));
  return [element('section', {class: 'card'}, [element('h2', {text: 'What helps'}), list])];
}

/** Returns "Killed for memory in load: a state dict of 300.00 MiB was held beside the model it is for". */
function headline(process: Process, death: Death): string {
  const cause = process.findings[0]?.title ?? '';
  // If no source tells the end, the cause tells more.
  const how = process.end.how === 'unknown' && cause !== '' ? 'Died' : upper(endWords(process.end));
  const phase = death.phase === null || death.phase === 'other' ? 'outside the phases of training' :
                                                                  `in ${phaseWords(death.phase)}`;
  const step = death.step === null ? '' : `, step ${death.step}`;
  return `${how} ${phase}${step}${cause === "" ? "" : ": " + cause}`;
}

function upper(text: string): string { return text.slice(0, 1).toUpperCase() + text.slice(1); }

function build(app: App, current: Current): Node[] {
  const process = current.postmortem ?? current.report;
  const death = current.postmortem?.death ?? null;
  if (process === null) return [element('p', {text: 'This process has no report.'})];
  if (death === null || current.postmortem === null) {
    return [
      element('h2', {text: 'No death to explain'}),
      element('p', {text: `The process ${endWords(process.end)}, after ${duration(process.duration)}.`}),
      evidence(process)
    ];
  }
  const namer = new SiteNamer(process, true);
  const head = element('p', {class: 'headline'}, [sentence(headline(process, death))]);
  const lead = element('p', {class: 'lead'}, [
    `The process ended after ${fixed(death.t, 1)} s. `,
    button(
        'Show', () => goTo(app, current.index, death.t * 1e9),
        {class: 'primary show', title: 'Shows the end in the timeline'})
  ]);
  const memory = death.memory ?? 'host';
  const allocated = held(app, namer, death.held ?? [], false, memory);
  const tensors = held(app, namer, death.held_tensor ?? [], true, memory);
  // On a device, all that the driver gave are segments: their blocks tell more.
  const whoHeld = memory === 'host' ? [...allocated, ...tensors] : [...tensors, ...allocated];
  const chart = growthChart(death);
  const remarkable = element(
      'section', {class: 'card'},
      [element('h2', {text: 'At the end'}), figures(death), ...(chart === null ? [] : [chart])]);
  return [
    head, lead, evidence(process), remarkable, ...filling(death, namer), ...whoHeld, ...last(app, namer, death),
    ...remedies(process)
  ];
}

function make(app: App): View { return built(app, 'postmortem', (current) => build(app, current)); }

function offered(page: App['page']): boolean {
  return documentsOf(page).postmortem?.processes.some((one) => one.death !== null && one.death !== undefined) ??
      false;
}

export const postmortemTab: Tab = {
  id: 'postmortem',
  title: 'How it ended',
  offered,
  make
};
