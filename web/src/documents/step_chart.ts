// Purpose: the levels of two steps on one axis, phase below phase: entry at the left of its phase, peak, exit.

import {Levels} from '../report/document';
import {PhasePair} from '../report/step_pair';
import {pathWords} from '../wording/labels';
import {size} from '../wording/units';

import {element, name} from '../dom/element';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1000;
const HEIGHT = 150;

function svg(tag: string, attributes: Record<string, string>): SVGElement {
  const made = document.createElementNS(SVG, tag) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A phase that a step lacks leaves a gap.
function path(pairs: readonly PhasePair[], side: 'a'|'b', high: number): string {
  const each = WIDTH / pairs.length;
  const y = (bytes: number) => (HEIGHT - HEIGHT * bytes / high).toFixed(1);
  let d = '';
  let open = false;
  pairs.forEach((pair, index) => {
    const levels: Levels|undefined = pair[side]?.levels;
    if (levels === undefined) {
      open = false;
      return;
    }
    const x = (part: number) => (each * (index + part)).toFixed(1);
    d += `${open ? "L" : "M"}${x(0)} ${y(levels.entry_live)}L${x(0.5)} ${y(levels.peak_live)}` +
        `L${x(1)} ${y(levels.exit_live)}`;
    open = true;
  });
  return d;
}

/** `a` and `b`: the names of the steps. The table below has the figures. */
export function stepChart(pairs: readonly PhasePair[], a: string, b: string): HTMLElement {
  const peak = (pair: PhasePair) => Math.max(pair.a?.levels.peak_live ?? 0, pair.b?.levels.peak_live ?? 0);
  const high = Math.max(1, 1.04 * pairs.reduce((most, pair) => Math.max(most, peak(pair)), 0));
  const label = `Levels of ${a} and ${b} in ${pairs.length} phases, up to ${size(high / 1.04)}`;
  const box = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    class: 'growth',
    role: 'img',
    'aria-label': label
  });
  for (let i = 1; i < pairs.length; ++i) {
    const x = String(WIDTH * i / pairs.length);
    box.append(svg('line', {x1: x, x2: x, y1: '0', y2: String(HEIGHT), class: 'edge'}));
  }
  box.append(svg('path', {d: path(pairs, 'a', high), class: 'first'}));
  box.append(svg('path', {d: path(pairs, 'b', high), class: 'tensor'}));
  const phases = element(
      'div', {class: 'phases', attributes: {'aria-hidden': 'true'}},
      pairs.map((pair) => element('span', {}, [name(pathWords(pair.path), 30)])));
  phases.style.setProperty('--phases', String(pairs.length));
  const key = element('p', {class: 'key muted'}, [
    element('span', {class: 'line-first', text: a}), element('span', {class: 'line-tensor', text: b}),
    element('span', {text: `0 to ${size(high / 1.04)}; in each phase: level at entry, peak, level at exit`})
  ]);
  return element('figure', {}, [box, phases, element('figcaption', {}, [key])]);
}
