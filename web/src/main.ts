// Purpose: start the page: decode its data, then show it; if the data is damaged, say so and show the text
// report.

import {DamagedPage} from './format/damage';
import {decode} from './format/decode';
import {Controller} from './state/controller';
import {queries} from './state/queries';
import {Shell} from './frame/shell';

function fail(root: HTMLElement, error: unknown): void {
  const told = document.createElement('p');
  told.className = 'failure';
  told.setAttribute('role', 'alert');
  const why = error instanceof DamagedPage ? error.message : 'the page met an error of its own';
  told.textContent = `The interactive page cannot be shown: ${why}. The text report follows.`;
  root.replaceChildren(told);
  document.getElementById('text')?.removeAttribute('hidden');
  document.documentElement.dataset.ready = 'failed';
  if (!(error instanceof DamagedPage)) console.error(error);
}

async function start(): Promise<void> {
  const root = document.getElementById('page');
  const data = document.getElementById('data');
  if (root === null) return;
  try {
    const page = await decode(data?.textContent ?? '');
    data?.remove();
    document.getElementById('text')?.setAttribute('hidden', '');
    let shell: Shell|null = null;
    const app = new Controller(page, (state) => shell?.update(state));
    shell = new Shell(app, root);
    shell.update(app.state);
    // For tests and for questions in the browser's console: the state, and what is live at an instant.
    Object.assign(window, {memtrace: queries(app)});
    document.documentElement.dataset.ready = 'shown';
    performance.mark('memtrace-ready');
  } catch (error) {
    fail(root, error);
  }
}

void start();
