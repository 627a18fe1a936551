// Purpose: shows the stack of a site: the user's frames and Python first, the native ones on request.

import {Frame} from '../report/document';
import {isHidden, shortPath} from '../report/sites';
import {copy} from '../table/clipboard';
import {count} from '../wording/units';

import {button, element, name} from '../dom/element';

function lineOf(frame: Frame): HTMLElement {
  const item = element('li', {class: frame.own === true ? 'own' : isHidden(frame) ? 'inner' : ''});
  item.append(name(frame.function, 220));
  const place = frame.file !== '' ? frame.file : frame.module;
  if (place === '') return item;
  const short = shortPath(place) + (frame.line > 0 ? `:${frame.line}` : '');
  const shown = name(short, 120);
  shown.classList.add('place');
  shown.title = place.slice(0, 4000) + (frame.line > 0 ? `:${frame.line}` : '');
  item.append(' ', shown);
  return item;
}

function textOf(frames: readonly Frame[]): string {
  return frames
      .map(
          (one) => `${one.function}  ${one.file !== "" ? one.file : one.module}${
              one.line > 0 ? ":" + one.line : ""}`)
      .join('\n');
}

/** Returns the stack, innermost frame first. */
export function stack(frames: readonly Frame[]): HTMLElement {
  const root = element('div', {class: 'frames'});
  if (frames.length === 0) {
    root.append(element('p', {class: 'muted', text: 'No stack was recorded for these blocks.'}));
    return root;
  }
  const hidden = frames.filter(isHidden).length;
  let all = hidden === frames.length;
  const list = element('ol');
  const draw = () => {
    list.replaceChildren(...frames.filter((one) => all || !isHidden(one)).map(lineOf));
    toggle.textContent = all ? 'Hide inner frames' : `Show ${count(hidden)} inner frames`;
    toggle.setAttribute('aria-pressed', String(all));
  };
  const toggle = button('', () => {
    all = !all;
    draw();
  }, {title: 'Frames of native libraries and of the importer'});
  const take = button('Copy stack', () => void copy(textOf(frames)).then((done) => {
    take.textContent = done ? 'Copied' : 'The browser does not allow the copy';
  }));
  draw();
  const tools = element('div', {class: 'tools'}, [take]);
  if (hidden > 0 && hidden < frames.length) tools.prepend(toggle);
  root.append(element('p', {class: 'muted', text: 'Innermost frame first'}), list, tools);
  return root;
}
