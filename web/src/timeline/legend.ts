// Purpose: the bands of the lane with what they hold at the picked instant; a click hides one, Alt and a click
// leaves one.

import type {App, View, ViewState} from '../state/app';
import {say} from '../dom/element';
import {bytes} from '../scale/bytes';
import {type ProcessStore, storeOf} from '../store/process_store';

/** Bands that hold anything in any lane of the process. */
function usedBands(store: ProcessStore): number[] {
  const used = store.info.lanes.reduce((bits, _, i) => bits | store.bandsOf(i), 0);
  return store.tables.bands.map((_, b) => b).filter((b) => (used >> b) & 1);
}

const MEANING: Record<string, string> = {
  runtime: 'blocks that are not tensors: libraries, the interpreter, arrays of numpy and pandas',
  cache: "what the allocator of PyTorch holds and no tensor uses",
  reserved: 'address space that was reserved and never touched: it takes no memory',
  unattributed: 'tensors without a role, and small blocks that were not recorded one by one'
};

interface Chip {
  readonly band: number;
  readonly button: HTMLButtonElement;
  readonly amount: HTMLElement;
}

class Legend {
  readonly element = document.createElement('div');
  private chips: Chip[] = [];
  private process = -1;

  constructor(private readonly app: App) {
    this.element.className = 'legend';
    this.element.setAttribute('role', 'group');
    this.element.setAttribute('aria-label', 'Bands: press to hide, with Alt to show one alone');
    this.element.addEventListener('keydown', (event) => this.walk(event));
  }

  private chip(store: ProcessStore, band: number): Chip {
    const button = document.createElement('button'), swatch = document.createElement('span');
    const name = document.createElement('span'), amount = document.createElement('span');
    button.type = 'button';
    button.className = 'chip';
    button.title = MEANING[store.tables.bands[band]] ?? '';
    swatch.className = 'swatch';
    swatch.dataset.band = store.tables.bands[band].replace(/ /g, '-');
    name.textContent = store.tables.bands[band];
    amount.className = 'amount';
    button.append(swatch, name, amount);
    button.addEventListener('click', (event) => this.toggle(band, event.altKey));
    return {band, button, amount};
  }

  private toggle(band: number, alone: boolean): void {
    const {hidden} = this.app.state, bit = 1 << band;
    if (!alone) {
      this.app.go({hidden: hidden ^ bit});
      return;
    }
    const others = this.chips.reduce((bits, one) => bits | (1 << one.band), 0) & ~bit;
    this.app.go({hidden: hidden === others ? 0 : others});
  }

  /** Arrows walk; h hides and s leaves the focused band alone. */
  private walk(event: KeyboardEvent): void {
    const now = this.chips.findIndex((one) => one.button === document.activeElement);
    if (now < 0 || event.ctrlKey || event.metaKey) return;
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by !== 0)
      this.chips[(now + by + this.chips.length) % this.chips.length].button.focus();
    else if (event.key === 'h')
      this.toggle(this.chips[now].band, false);
    else if (event.key === 's' || (event.altKey && event.key === 'Enter'))
      this.toggle(this.chips[now].band, true);
    else
      return;
    event.preventDefault();
  }

  focus(): void { this.chips[0]?.button.focus(); }

  update(state: ViewState): void {
    const store = storeOf(this.app.page, state.process);
    if (state.process !== this.process) {
      this.process = state.process;
      this.chips = usedBands(store).map((band) => this.chip(store, band));
      this.element.replaceChildren(...this.chips.map((one) => one.button));
    }
    const composition = state.at === null ? null : store.composition(state.lane, state.at);
    for (const {band, button, amount} of this.chips) {
      const shown = ((state.hidden >> band) & 1) === 0;
      button.setAttribute('aria-pressed', String(shown));
      const held = composition === null ? 0 : composition.bands[band];
      say(amount, composition === null || Math.abs(held) < 1 ? '\u2013' : bytes(held));
    }
  }
}

export function legend(app: App): View&{focus(): void} { return new Legend(app); }
