// Purpose: the levels up to a death, as a stepped line below the limit.

import {Death} from '../report/document';
import {Moment, thinned} from '../report/growth';
import {duration, size} from '../wording/units';

import {element} from '../dom/element';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 1000;
const HEIGHT = 160;

function svg(tag: string, attributes: Record<string, string>): SVGElement {
  const made = document.createElementNS(SVG, tag) as SVGElement;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// A level holds until the next one, so the line has steps.
function path(moments: readonly Moment[], of: (one: Moment) => number, end: number, high: number): string {
  const x = (t: number) => (WIDTH * t / Math.max(end, 1e-9)).toFixed(1);
  const y = (bytes: number) => (HEIGHT - HEIGHT * bytes / Math.max(high, 1)).toFixed(1);
  let d = `M0 ${HEIGHT}`;
  for (const one of moments) d += `H${x(one.t)}V${y(of(one))}`;
  return d + `H${WIDTH}`;
}

/** Returns the chart, or null if the document has no levels. */
export function growthChart(death: Death): HTMLElement|null {
  const moments = thinned(death.growth ?? [], death.t, WIDTH);
  if (moments.length < 2 || moments.every((one) => one.live === 0)) return null;
  const limit = death.limit ?? 0;
  const high = 1.05 * moments.reduce((most, one) => Math.max(most, one.live), limit);
  const words = `All allocations and tensors from the start to the death after ${duration(death.t)}: ${
      size(death.live)} and ${size(death.tensor)} at the end`;
  const box = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    class: 'growth',
    role: 'img',
    'aria-label': words
  });
  box.append(svg('path', {d: path(moments, (one) => one.live, death.t, high), class: 'live'}));
  box.append(svg('path', {d: path(moments, (one) => one.tensor, death.t, high), class: 'tensor'}));
  if (limit > 0) {
    const y = String(HEIGHT - HEIGHT * limit / high);
    box.append(svg('line', {x1: '0', x2: String(WIDTH), y1: y, y2: y, class: 'limit'}));
  }
  const key = element('p', {class: 'key muted'}, [
    element('span', {class: 'line-live', text: 'all allocations, with reservations'}),
    element('span', {class: 'line-tensor', text: 'tensors'}),
    ...(limit > 0 ? [element('span', {class: 'line-limit', text: `limit, ${size(limit)}`})] : []),
    element('span', {text: `0 to ${duration(death.t)}`})
  ]);
  return element('figure', {}, [box, element('figcaption', {}, [key])]);
}
