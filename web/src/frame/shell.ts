// Purpose: the frame of the page: its head, the row of tabs, and the panel of the chosen tab.

import {header} from './header';
import {TABS} from './tabs';
import type {App, Tab, View, ViewState} from '../state/app';

interface Shown {
  readonly tab: Tab;
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;
  view: View|null;
}

function makeTab(tab: Tab, app: App): Shown {
  const button = document.createElement('button');
  button.type = 'button';
  button.id = `tab-${tab.id}`;
  button.textContent = tab.title;
  button.setAttribute('role', 'tab');
  button.setAttribute('aria-controls', `panel-${tab.id}`);
  button.addEventListener('click', () => app.go({tab: tab.id}));
  const panel = document.createElement('div');
  panel.id = `panel-${tab.id}`;
  panel.className = 'panel';
  panel.setAttribute('role', 'tabpanel');
  panel.setAttribute('aria-labelledby', button.id);
  return {tab, button, panel, view: null};
}

/** Everything in the page but the data. A view is made when its tab is first shown. */
export class Shell {
  private readonly head: View;
  private readonly tabs: Shown[];
  private readonly list = document.createElement('div');

  constructor(private readonly app: App, private readonly root: HTMLElement) {
    this.head = header(app);
    this.tabs = TABS.filter((tab) => tab.offered(app.page)).map((tab) => makeTab(tab, app));
    this.list.className = 'tabs';
    this.list.setAttribute('role', 'tablist');
    this.list.setAttribute('aria-label', 'Views');
    this.list.append(...this.tabs.map((one) => one.button));
    this.list.addEventListener('keydown', (event) => this.walk(event));
    root.replaceChildren(this.head.element, this.list, ...this.tabs.map((one) => one.panel));
    addEventListener('keydown', (event) => this.key(event));
    addEventListener('resize', () => app.redraw());
    addEventListener('beforeprint', () => this.update(app.state));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => app.redraw());
  }

  update(state: ViewState): void {
    this.head.update(state);
    const shown = this.chosen(state);
    for (const one of this.tabs) {
      const is = one === shown;
      one.button.setAttribute('aria-selected', String(is));
      one.button.tabIndex = is ? 0 : -1;
      one.panel.hidden = !is;
    }
    if (shown.view === null) {
      shown.view = shown.tab.make(this.app);
      shown.panel.append(shown.view.element);
    }
    this.root.dataset.tab = shown.tab.id;
    shown.view.update(state);
  }

  private chosen(state: ViewState): Shown {
    return this.tabs.find((one) => one.tab.id === state.tab) ?? this.tabs[0];
  }

  /** Arrow keys in the row of tabs. */
  private walk(event: KeyboardEvent): void {
    const now = this.tabs.indexOf(this.chosen(this.app.state));
    const count = this.tabs.length;
    const next: Record<string, number> =
        {ArrowRight: (now + 1) % count, ArrowLeft: (now + count - 1) % count, Home: 0, End: count - 1};
    const to = next[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.tabs[to].button.focus();
    this.app.go({tab: this.tabs[to].tab.id});
  }

  private key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey) return;
    const target = event.target;
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement ||
        target instanceof HTMLTextAreaElement) {
      return;
    }
    const view = this.chosen(this.app.state).view;
    if (view?.key?.(event) === true) {
      event.preventDefault();
      return;
    }
    if (event.altKey || !/^[1-9]$/.test(event.key)) return;
    const one = this.tabs[Number(event.key) - 1];
    if (one !== undefined) {
      event.preventDefault();
      this.app.go({tab: one.tab.id});
    }
  }
}
