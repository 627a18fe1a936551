// Purpose: the head of the page: the program, how it ended, its peaks; the switches of process and colours.

import {Current, currentOf, documentsOf} from '../report/current';
import {Process} from '../report/document';
import {highestResident, leadingPeak, memoriesOf, peakOf, touchedBytes} from '../report/levels';
import type {App, View} from '../state/app';
import {endedWell, endWords, laneWords, memoryWords, programName, when} from '../wording/labels';
import {count, duration} from '../wording/units';
import {button, bytes, element, name} from '../dom/element';
import {goTo, laneOf} from '../documents/moment';
import {themeSwitch} from './theme_switch';

interface Tile {
  readonly title: string;
  readonly bytes: number;
  readonly note: string;
  readonly t: number|null; // seconds
  readonly lane: number;
}

function tilesOf(current: Current, process: Process): Tile[] {
  const out: Tile[] = [];
  for (const memory of memoriesOf(process)) {
    const leading = leadingPeak(process, memory);
    const live = peakOf(process, memory, 'live');
    for (const peak of new Set([leading, live])) {
      if (peak === null || peak.bytes <= 0) continue;
      out.push({
        title: laneWords(memory, peak.measure),
        bytes: touchedBytes(peak),
        note: when(peak.phase, peak.step),
        t: peak.t,
        lane: laneOf(current.info, memory, peak.measure)
      });
    }
    for (const measure of ['reserved', 'used'] as const) {
      const peak = peakOf(process, memory, measure);
      if (peak !== null && peak.bytes > 0)
        out.push({
          title: laneWords(memory, measure),
          bytes: peak.bytes,
          note: when(peak.phase, peak.step),
          t: peak.t,
          lane: -1
        });
    }
  }
  const resident = highestResident(process);
  const sampled = peakOf(process, 'host', 'rss');
  if (resident > 0)
    out.push({title: 'resident memory', bytes: resident, note: 'at most', t: sampled?.t ?? null, lane: -1});
  return out;
}

function tile(app: App, current: Current, from: Tile): HTMLElement {
  const parts = [
    element('span', {class: 'title', text: from.title}), bytes(from.bytes),
    element('span', {class: 'note', text: from.note})
  ];
  const t = from.t;
  if (t === null) return element('div', {class: 'tile'}, parts);
  const made = button(
      '', () => goTo(app, current.index, t * 1e9, from.lane),
      {class: 'tile', title: `Shows the peak at ${duration(t)} in the timeline`});
  made.append(...parts);
  return made;
}

// The tiles of a process without a report, as of one side of a comparison: its lanes.
function lanesOf(current: Current): Tile[] {
  return current.info.lanes.map((lane, index) => ({
                                  title: laneWords(lane.memory, lane.measure),
                                  bytes: lane.peak.bytes - (lane.peak.reserved ?? 0),
                                  note: 'at most',
                                  t: lane.peak.t / 1e9,
                                  lane: index
                                }));
}

function badge(process: Process): HTMLElement {
  // A snapshot of PyTorch says nothing of the end of its process.
  const snapshot = process.trace.torch_snapshot !== null && process.trace.torch_snapshot !== undefined;
  const well = snapshot || endedWell(process.end);
  const end = snapshot ? "PyTorch's memory snapshot" : endWords(process.end);
  const text = `${end} after ${duration(process.duration)}`;
  const mark =
      element('span', {class: 'shape', text: well ? '\u25cf' : '\u25b2', attributes: {'aria-hidden': 'true'}});
  return element(
      'span', {class: `badge ${well ? "well" : "ill"}`, title: process.end.evidence.join('\n')},
      [mark, ' ' + text]);
}

function factsOf(current: Current): HTMLElement {
  const {report, info} = current;
  const line = element('p', {class: 'facts'});
  if (report !== null) {
    line.append(badge(report));
    if (report.pid !== 0) line.append(element('span', {text: `pid ${report.pid}`}));
    if (report.rank !== null) line.append(element('span', {text: `rank ${report.rank}`}));
    if (report.kind !== 'main') line.append(name(report.kind));
    if (report.host !== '') line.append(name('on ' + report.host, 60));
    for (const device of report.devices) line.append(name(`${memoryWords(device.memory)}: ${device.name}`, 60));
  }
  const all = info.rows >= info.events;
  const stored = all ?
      `all ${count(info.events)} events are stored` :
      `single events: ${count(info.rows)} of ${count(info.events)}, in ${count(info.windows.length)} windows`;
  line.append(element('span', {class: 'muted', text: stored}));
  if (report !== null && report.trace.lost_events > 0)
    line.append(element('strong', {text: `${count(report.trace.lost_events)} events were lost`}));
  return line;
}

function processSwitch(app: App): HTMLElement|null {
  const {processes, mode} = app.page.info;
  if (processes.length < 2) return null;
  const select = element('select', {attributes: {id: 'process', 'aria-label': 'Process'}});
  processes.forEach((one, index) => {
    const side = mode === 'diff' ? ['A: ', 'B: '][index] ?? '' : '';
    const option = element('option', {attributes: {value: String(index)}});
    option.append(side, name(one.name, 80).textContent ?? '');
    select.append(option);
  });
  select.addEventListener('change', () => {
    const process = Number(select.value);
    const info = processes[process];
    const lane = Math.max(0, info.lanes.findIndex((one) => one.leads));
    app.go({
      process,
      lane,
      from: 0,
      to: info.end,
      at: info.lanes[lane]?.peak.t ?? null,
      range: null,
      selected: null,
      focus: null
    });
  });
  return element(
      'label', {class: 'field'}, [element('span', {text: mode === 'diff' ? 'Side' : 'Process'}), select]);
}

export function header(app: App): View {
  const root = element('header', {class: 'head'});
  const title = element('h1');
  const facts = element('div');
  const tiles = element('div', {class: 'tiles', attributes: {role: 'group', 'aria-label': 'Highest levels'}});
  const processes = processSwitch(app);
  const switches = element('div', {class: 'switches'});
  if (processes !== null) switches.append(processes);
  switches.append(themeSwitch(app));
  const mark = element('span', {class: 'mark', text: 'memtrace', title: `memtrace ${app.page.info.version}`});
  root.append(element('div', {class: 'line'}, [mark, title, switches]), facts, tiles);
  addEventListener('keydown', (event) => {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === '?' && !typing && !event.ctrlKey && !event.metaKey) app.go({tab: 'help'});
  });
  const attempt = documentsOf(app.page).report?.job.attempt ?? 1;
  let shown = -1;
  return {
    element: root,
    update(state) {
      const select = processes?.querySelector('select');
      if (select !== null && select !== undefined) select.value = String(state.process);
      if (shown === state.process) return;
      shown = state.process;
      const current = currentOf(app.page, state.process);
      const {report} = current;
      title.replaceChildren(name(report === null ? current.info.name : programName(report), 80));
      title.title = report === null ? '' : report.argv.join(' ').slice(0, 2000);
      facts.replaceChildren(factsOf(current));
      if (attempt > 1) facts.append(element('p', {class: 'muted', text: `attempt ${attempt} of this job`}));
      const list = report === null ? lanesOf(current) : tilesOf(current, report);
      tiles.replaceChildren(...list.map((one) => tile(app, current, one)));
    }
  };
}
