// Purpose: the switch between the light theme, the dark theme and that of the system.

import type {App} from '../state/app';
import {element} from '../dom/element';

type Theme = 'auto'|'light'|'dark';
interface Named {
  readonly value: Theme;
  readonly title: string;
}
const THEMES: readonly Named[] =
    [{value: 'auto', title: 'System'}, {value: 'light', title: 'Light'}, {value: 'dark', title: 'Dark'}];
const KEY = 'memtrace.theme';

// A browser may refuse storage to a file on disk: then the choice lasts until the page is closed.
function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

function store(theme: Theme): void {
  try {
    if (theme === 'auto')
      localStorage.removeItem(KEY);
    else
      localStorage.setItem(KEY, theme);
  } catch {
    // see stored()
  }
}

function apply(theme: Theme): void {
  if (theme === 'auto')
    delete document.documentElement.dataset.theme;
  else
    document.documentElement.dataset.theme = theme;
}

export function themeSwitch(app: App): HTMLElement {
  const select = element('select', {attributes: {id: 'theme', 'aria-label': 'Colours'}});
  for (const {value, title} of THEMES) select.append(element('option', {text: title, attributes: {value}}));
  select.value = stored();
  apply(stored());
  select.addEventListener('change', () => {
    const theme = select.value as Theme;
    apply(theme);
    store(theme);
    app.redraw();
  });
  return element('label', {class: 'field'}, [element('span', {text: 'Colours'}), select]);
}
