// Purpose: the strip of the highest level of each step: a slope is a leak, a first high bar is the first step.

import {barsOf, Drift} from '../report/drift';
import type {App} from '../state/app';
import {bytesColumn, numberColumn} from '../table/column';
import {table} from '../table/table';
import {count, duration, exact, size, unitFor} from '../wording/units';
import {button, element} from '../dom/element';
import {goTo} from './moment';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1000;
const HEIGHT = 90;
const MOST = 250; // bars, so that each is at least 4 of 1000 wide

function svg<K extends keyof SVGElementTagNameMap>(
    tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Returns the name of the steps of a bucket: it ends before the next one's number. */
function named(drift: Drift, first: number, last: number): string {
  const from = drift.number[first];
  const to = last + 1 < drift.number.length ? Math.max(from, drift.number[last + 1] - 1) : drift.number[last];
  return from === to ? `step ${count(from)}` : `steps ${count(from)} to ${count(to)}`;
}

function bars(app: App, process: number, lane: number, drift: Drift, low: number, high: number): SVGElement {
  const all = barsOf(drift.level, MOST);
  const box = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    class: 'strip',
    role: 'img',
    'aria-label': `Highest level of ${count(drift.level.length)} steps, from ${size(low)} to ${size(high)}`
  });
  const each = WIDTH / all.length;
  all.forEach((bar, index) => {
    const level = drift.level[bar.highest];
    const height = high > 0 ? Math.max(1, HEIGHT * level / high) : 1;
    const rect = svg('rect', {
      x: String(index * each),
      y: String(HEIGHT - height),
      width: String(Math.max(0.5, each - (each > 3 ? 1 : 0))),
      height: String(height),
      class: level === high && low < high ? 'highest' : ''
    });
    const title = svg('title', {});
    title.textContent = `${named(drift, bar.first, bar.last)}: ${size(level)} at most (${exact(level)})`;
    rect.append(title);
    const middle = (drift.start[bar.highest] + drift.end[bar.highest]) / 2;
    rect.addEventListener('click', () => goTo(app, process, middle, lane));
    box.append(rect);
  });
  return box;
}

/** Returns the strip and, on request, its table. */
export function driftStrip(app: App, process: number, lane: number, drift: Drift): HTMLElement {
  let low = Infinity, high = -Infinity;
  for (const level of drift.level) {
    low = Math.min(low, level);
    high = Math.max(high, level);
  }
  const first = drift.level[0], last = drift.level[drift.level.length - 1];
  const words = `From ${size(first)} in ${named(drift, 0, 0)} to ${size(last)} in ` +
      `${named(drift, drift.level.length - 1, drift.level.length - 1)}; lowest ${size(low)}, highest ${
                    size(high)}.`;
  const unit = unitFor(high);
  const place = element('div');
  const rows = Array.from(drift.level, (_, index) => index);
  const twin = button('Table of the steps', () => {
    const open = place.childElementCount === 0;
    twin.setAttribute('aria-expanded', String(open));
    place.replaceChildren(
        ...(open ? [table({
          id: 'drift',
          caption: `Highest level of each step, ${unit.name}`,
          rows,
          announce: (text) => app.announce(text),
          columns: [
            {...numberColumn<number>('step', 0, (i) => drift.number[i])},
            bytesColumn<number>('highest', unit, (i) => drift.level[i]), {
              title: 'starts',
              number: true,
              key: (i) => drift.start[i],
              fill: (cell, i) => void (cell.textContent = duration(drift.start[i] / 1e9))
            },
            {
              title: 'takes',
              number: true,
              key: (i) => drift.end[i] - drift.start[i],
              fill: (cell, i) => void (cell.textContent = duration((drift.end[i] - drift.start[i]) / 1e9))
            }
          ]
        })] :
                   []));
  }, {attributes: {'aria-expanded': 'false'}});
  const axis = element('div', {class: 'strip-axis', attributes: {'aria-hidden': 'true'}}, [
    element('span', {text: named(drift, 0, 0)}), element('span', {text: `0 to ${size(high)}`}),
    element('span', {text: named(drift, drift.level.length - 1, drift.level.length - 1)})
  ]);
  const root = element('section', {class: 'card drift'}, [
    element('h2', {text: 'Highest level of each step'}), element('p', {class: 'lead', text: words}),
    bars(app, process, lane, drift, low, high), axis, twin, place
  ]);
  root.style.setProperty('--bars', String(Math.min(MOST, drift.level.length)));
  return root;
}
