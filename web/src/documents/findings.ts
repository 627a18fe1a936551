// Purpose: the first tab: the causes that memtrace found, with their figures, evidence and remedies.

import {Current, documentsOf, hasReport} from '../report/current';
import {Finding, Process} from '../report/document';
import {Holder, holders, SiteNamer} from '../report/holders';
import {leadingPeak, touchedBytes} from '../report/levels';
import {titleOf} from '../report/sites';
import type {App, Tab, View} from '../state/app';
import {laneWords, measureWords, memoryWords, when} from '../wording/labels';
import {fixed} from '../wording/units';
import {built} from './built';
import {bar, button, bytes, element, name, sentence, swatch} from '../dom/element';
import {atInstant, goTo, laneOf} from './moment';
import {born} from './peaks';
import {stack} from './frames';

function severity(finding: Finding): HTMLElement {
  const certain = finding.confidence === 'certain';
  const shape = element(
      'span', {class: 'shape', text: certain ? '\u25b2' : '\u25c6', attributes: {'aria-hidden': 'true'}});
  const hint = certain ? 'The trace proves it' : 'The trace suggests it, and does not prove it';
  return element(
      'span', {class: `severity ${certain ? "certain" : "likely"}`, title: hint},
      [shape, ' ' + finding.confidence]);
}

function figure(title: string, amount: number|null|undefined, note = ''): HTMLElement[] {
  if (amount === null || amount === undefined || amount === 0) return [];
  const value = element('dd', {}, [bytes(amount)]);
  if (note !== '') value.append(' ' + note);
  return [element('div', {}, [element('dt', {text: title}), value])];
}

// These tell of an instant, not of blocks that take memory.
const OF_INSTANTS: Record<string, string> = {
  'oom-kill': 'allocated then',
  'cuda-oom': 'asked for',
  'allocation-failed': 'asked for'
};

function whatBytesAre(id: string): string {
  if (id === 'leak-per-step') return 'each step';
  return id === 'leak-per-event' ? 'each time' : 'it takes';
}

/** `died`: the process died for memory; else `bytes_at_end` is of the last step. */
function figures(finding: Finding, died: boolean): HTMLElement {
  const instant = OF_INSTANTS[finding.id];
  if (instant !== undefined) return element('dl', {class: 'figures'}, figure(instant, finding.bytes));
  return element('dl', {class: 'figures'}, [
    ...figure(whatBytesAre(finding.id), finding.bytes),
    ...figure('of it at the peak', finding.bytes_at_peak),
    ...figure(died ? 'at the death' : 'in the last step', finding.bytes_at_end),
    ...figure(
        'the peak falls by', finding.saving?.bytes,
        finding.saving === null || finding.saving === undefined ? '' :
                                                                  `of ${measureWords(finding.saving.measure)}`)
  ]);
}

function advice(label: string, text: string|null|undefined): HTMLElement[] {
  if (text === null || text === undefined || text === '') return [];
  return [element(
      'p', {class: 'advice'}, [element('strong', {text: label}), element('span', {}, [sentence(text)])])];
}

function place(finding: Finding): string {
  const memory = finding.memory === 'host' ? '' : `, ${memoryWords(finding.memory)}`;
  const phase = finding.phase === null || finding.phase === '' ? '' : when(finding.phase, finding.step);
  if (phase === '') return memory.slice(2);
  return `${phase.startsWith("outside") ? "" : "in "}${phase}${memory}`;
}

function siteOf(finding: Finding, namer: SiteNamer|null): HTMLElement[] {
  const where = place(finding);
  if (finding.site === null || namer === null)
    return where === '' ? [] : [element('p', {class: 'muted', text: where})];
  const names = namer.namesOf(finding);
  const line = element('p', {class: 'site'}, [name(titleOf(names))]);
  if (names.own !== '' && names.own !== names.where) line.append(' \u2190 ', name(names.own));
  if (where !== '') line.append(', ' + where);
  const more = element('details', {}, [element('summary', {text: 'Stack'})]);
  more.addEventListener('toggle', () => {
    if (more.open && more.childElementCount === 1) more.append(stack(namer.framesOf(finding)));
  });
  return [line, more];
}

function showButton(app: App, current: Current, number: number): HTMLElement[] {
  const mark = current.info.marks.find((one) => one.finding === number);
  if (mark === undefined) return [];
  const show = () => goTo(app, current.index, mark.t, mark.lane ?? -1);
  return [button('Show', show, {
    class: 'primary show',
    title: 'Shows the moment in the timeline',
    attributes: {'aria-label': `Show finding ${number + 1} in the timeline`}
  })];
}

function article(
    app: App, current: Current, finding: Finding, number: number, ofProcess: boolean): HTMLElement {
  const head = element('div', {class: 'heading'}, [
    element('span', {class: 'number', text: String(number + 1)}), element('h2', {}, [sentence(finding.title)]),
    severity(finding), ...(ofProcess ? showButton(app, current, number) : [])
  ]);
  const evidence =
      element('ul', {class: 'evidence'}, finding.evidence.map((one) => element('li', {}, [sentence(one)])));
  return element(
      'article', {class: 'finding', attributes: {id: `finding-${number}`}, data: {finding: finding.id}}, [
        head, figures(finding, (current.report?.death ?? null) !== null), ...advice('Fix', finding.remedy),
        ...advice('No help', finding.no_remedy),
        element('div', {}, [element('h3', {text: 'Evidence'}), evidence]),
        ...siteOf(finding, ofProcess ? current.namer : null)
      ]);
}

function lineRow(holder: Holder, total: number, largest: number): HTMLElement {
  const since = born(holder);
  const what = element('span', {class: 'what'}, [swatch(holder.band), name(holder.use)]);
  if (since !== '') what.append(` since ${since}`);
  const line = name(holder.line);
  line.classList.add('line');
  return element('li', {}, [
    line, what, bar(holder.bytes / largest, {class: `band-${holder.band.replace(/ /g, "-")}`}),
    bytes(holder.bytes), element('span', {class: 'percent', text: fixed(100 * holder.bytes / total, 1) + ' %'})
  ]);
}

/** The user's lines that held the most at the peak. */
function largestLines(app: App, current: Current, process: Process): Node[] {
  const info = current.info.lanes.find((lane) => lane.leads);
  const peak = leadingPeak(process, info?.memory ?? 'host');
  if (peak === null || current.namer === null) return [];
  const total = touchedBytes(peak);
  const all = holders(current.namer, peak.at_peak, 'line', peak.measure === 'tensor');
  const largest = all.filter((one) => one.line !== '' && !one.reserved && one.bytes >= total / 100).slice(0, 6);
  if (largest.length === 0 || total <= 0) return [];
  const head = element('p', {class: 'lead'}, [
    `The peak of ${laneWords(peak.memory, peak.measure)} is `, bytes(total),
    `, ${when(peak.phase, peak.step).replace(/^(?!outside)/, "in ")}`,
    ...atInstant(app, current.index, peak.t, laneOf(current.info, peak.memory, peak.measure)),
    '. Your lines that held the most:'
  ]);
  const rest = all.filter((one) => one.rest).reduce((sum, one) => sum + one.bytes, 0);
  // A leak has a row for each step, and the document names the largest rows.
  const cut = rest < total / 100 ? [] : [element('p', {class: 'muted'}, [
    'These lines may hold more: the report only sums up the smallest rows, ', bytes(rest), ' of the peak.'
  ])];
  const list = element('ol', {class: 'lines'}, largest.map((one) => lineRow(one, total, largest[0].bytes)));
  const more = button('All that was alive', () => app.go({tab: 'peaks', choice: ''}));
  return [element(
      'section', {class: 'card'}, [element('h2', {text: 'Largest at the peak'}), head, list, ...cut, more])];
}

function build(app: App, current: Current): Node[] {
  const process = current.report;
  if (process === null) return [element('p', {text: 'This process has no report.'})];
  const out: Node[] = [];
  const shared = documentsOf(app.page).report?.findings ?? [];
  if (process.findings.length === 0)
    out.push(element('p', {
      class: 'lead',
      text: 'No finding: memtrace found none of the causes that it looks for. It does not know whether your ' +
          'lines need ' +
          'what they hold.'
    }));
  process.findings.forEach((one, number) => out.push(article(app, current, one, number, true)));
  out.push(...largestLines(app, current, process));
  if (shared.length > 0) out.push(element('h2', {text: 'About several processes'}));
  shared.forEach(
      (one, number) => out.push(article(app, current, one, process.findings.length + number, false)));
  return out;
}

function make(app: App): View { return built(app, 'findings', (current) => build(app, current)); }

export const findingsTab: Tab = {
  id: 'findings',
  title: 'Findings',
  offered: hasReport,
  make
};
