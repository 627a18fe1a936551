// Purpose: keep the state in the fragment of the URL, so that Back, reload and pasted links work.

import {readFragment, type ViewState, writeFragment} from './view_state';

const REST = 400; // ms without a change: then a drag is one step of the history

export class UrlState {
  private waiting = 0;
  private written = '';

  constructor(private readonly first: ViewState, private readonly changed: (state: ViewState) => void) {
    addEventListener('hashchange', () => this.arrived());
  }

  read(): ViewState {
    this.written = location.hash.replace(/^#/, '');
    return readFragment(this.written, this.first);
  }

  /** The first state of a page without a fragment gets no step of its own. */
  write(state: ViewState, atOnce: boolean): void {
    clearTimeout(this.waiting);
    const push = () => this.push(writeFragment(state));
    if (atOnce)
      push();
    else
      this.waiting = setTimeout(push, REST) as unknown as number;
  }

  private push(fragment: string): void {
    if (fragment === this.written) return;
    this.written = fragment;
    location.hash = fragment;
  }

  private arrived(): void {
    const now = location.hash.replace(/^#/, '');
    if (now === this.written) return;
    clearTimeout(this.waiting);
    this.written = now;
    this.changed(readFragment(now, this.first));
  }
}
