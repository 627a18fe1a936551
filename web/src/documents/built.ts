// Purpose: a view that is built from the documents, and built again only if what it depends on changes.

import {Current, currentOf} from '../report/current';
import type {App, View, ViewState} from '../state/app';
import {element} from '../dom/element';

/** `name`: its choices are those in `state.choice` that begin so. */
export function built(
    app: App, name: string, build: (current: Current, choice: string) => readonly Node[]): View {
  const root = element('section', {class: `document ${name}`});
  let shown: string|null = null;
  return {
    element: root,
    update(state: ViewState) {
      const choice = choiceOf(state, name);
      const key = `${state.process} ${choice}`;
      if (key === shown) return;
      const focused = document.activeElement?.id ?? '';
      shown = key;
      root.replaceChildren(...build(currentOf(app.page, state.process), choice));
      if (focused !== '') document.getElementById(focused)?.focus();
    }
  };
}

/** Returns the choice of a view, "" if there is none. */
export function choiceOf(state: ViewState, name: string): string {
  return state.choice.startsWith(name + ':') ? state.choice.slice(name.length + 1) : '';
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

/** Buttons of which one is pressed. */
export function chooser(
    id: string, label: string, choices: readonly Choice[], chosen: string,
    choose: (value: string) => void): HTMLElement {
  const group = element('div', {class: 'chooser', attributes: {role: 'group', 'aria-label': label}});
  choices.forEach(({value, title}, index) => {
    const made = element('button', {
      text: title,
      attributes: {type: 'button', id: `${id}-${index}`, 'aria-pressed': String(value === chosen)}
    });
    made.addEventListener('click', () => choose(value));
    group.append(made);
  });
  return element('div', {class: 'pick'}, [element('span', {class: 'label', text: label}), group]);
}
