// Purpose: makes elements. Text is only ever set as textContent, because names come from the traced program.

import {clipped, printable} from '../wording/printable';
import {exact, size} from '../wording/units';

export interface Options {
  readonly class
  ?: string;
  readonly text?: string;
  readonly title?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, string>>;
}

export function element<K extends keyof HTMLElementTagNameMap>(
    tag: K, options: Options = {}, children: readonly(Node | string)[] = []): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (options.class !== undefined) made.className = options.class;
  if (options.text !== undefined) made.textContent = options.text;
  if (options.title !== undefined) made.title = options.title;
  for (const [name, value] of Object.entries(options.data ?? {})) made.dataset[name] = value;
  for (const [name, value] of Object.entries(options.attributes ?? {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Sets a text only if it changed, so that a screen reader and the layout are left alone. */
export function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function button(text: string, action: () => void, options: Options = {}): HTMLButtonElement {
  const made = element('button', {...options, text, attributes: {type: 'button', ...options.attributes}});
  made.addEventListener('click', action);
  return made;
}

/** Shows a name of the traced program. Long ones are cut, and whole in the title. */
export function name(text: string, most?: number): HTMLElement {
  const safe = printable(text);
  const shown = clipped(safe, most);
  // <bdi>: a name from right to left does not turn the text beside it around.
  return element('bdi', {class: 'name', text: shown, title: shown === safe ? undefined : safe.slice(0, 4000)});
}

/** Shows a size in MiB or GiB. The exact bytes are in its title, and in data-bytes for tests and scripts. */
export function bytes(amount: number, shown = size(amount)): HTMLElement {
  return element('span', {class: 'bytes', text: shown, title: exact(amount), data: {bytes: String(amount)}});
}

/**
 * Shows a sentence of the analyzer. Sizes that it gives in bytes are shown in MiB, with the bytes in their
 * title.
 */
export function sentence(text: string): DocumentFragment {
  const out = document.createDocumentFragment();
  let rest = 0;
  const safe = printable(text);
  for (const found of safe.matchAll(/\b(\d{5,15}) bytes\b/g)) {
    out.append(safe.slice(rest, found.index), bytes(Number(found[1])));
    rest = (found.index as number) + found[0].length;
  }
  out.append(safe.slice(rest));
  return out;
}

/** A square in the colour of a band, with its hatch. The word beside it says the same. */
export function swatch(band: string): HTMLElement {
  return element('span', {class: `patch band-${band.replace(/ /g, "-")}`, attributes: {'aria-hidden': 'true'}});
}

/** Sets a length from 0 to 1 of a bar, as the policy of the page allows no style attribute. */
export function bar(share: number, options: Options = {}): HTMLElement {
  const made = element(
      'span', {...options, class: 'share-bar ' + (options.class ?? ''), attributes: {'aria-hidden': 'true'}});
  made.style.setProperty('--share', String(Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0))));
  return made;
}
