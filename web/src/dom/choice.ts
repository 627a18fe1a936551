// Purpose: a row of buttons of which one is pressed.

import {button, element} from './element';

export interface Choice<T extends string> {
  readonly element: HTMLElement;
  set(value: T): void;
}

export function choice<T extends string>(
    name: string, options: readonly(readonly[T, string])[], chosen: (value: T) => void): Choice<T> {
  const row = element('div', {class: 'choice', attributes: {role: 'group', 'aria-label': name}});
  const buttons = options.map(([value, text]) => {
    const one = button(text, () => chosen(value));
    row.append(one);
    return [value, one] as const;
  });
  return {
    element: row,
    set(value) {
      for (const [of, one] of buttons) one.setAttribute('aria-pressed', String(of === value));
    }
  };
}
