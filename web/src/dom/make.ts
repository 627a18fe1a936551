// Purpose: make elements. Text goes to textContent only.

export function make<K extends keyof HTMLElementTagNameMap>(
    tag: K, className = '', text = ''): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  if (text !== '') element.textContent = text;
  return element;
}

export function button(text: string, title: string, pressed: () => void): HTMLButtonElement {
  const element = make('button', '', text);
  element.type = 'button';
  if (title !== '') element.title = title;
  element.addEventListener('click', pressed);
  return element;
}

/** Sets a text only if it changed, so that a screen reader and the layout are left alone. */
export function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export interface Choice<T extends string> {
  readonly element: HTMLElement;
  set(value: T): void;
}

/** A row of buttons of which one is pressed. */
export function choice<T extends string>(
    name: string, options: readonly(readonly[T, string])[], chosen: (value: T) => void): Choice<T> {
  const element = make('div', 'choice');
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', name);
  const buttons = options.map(([value, text]) => {
    const one = button(text, '', () => chosen(value));
    element.append(one);
    return [value, one] as const;
  });
  return {
    element,
    set(value) {
      for (const [of, one] of buttons) one.setAttribute('aria-pressed', String(of === value));
    }
  };
}

/** A table of texts; the columns of `right` hold numbers. */
export function plainTable(
    caption: string, heads: readonly string[], rows: readonly(readonly string[])[],
    right: readonly number[]): HTMLTableElement {
  const table = make('table', 'twin'), head = make('thead'), body = make('tbody'), line = make('tr');
  table.append(make('caption', '', caption), head, body);
  const kind = (i: number) => (right.includes(i) ? 'number' : '');
  heads.forEach((text, i) => {
    const cell = make('th', kind(i), text);
    cell.scope = 'col';
    line.append(cell);
  });
  head.append(line);
  for (const row of rows) {
    const out = make('tr');
    row.forEach((text, i) => out.append(make('td', kind(i), text)));
    body.append(out);
  }
  return table;
}
