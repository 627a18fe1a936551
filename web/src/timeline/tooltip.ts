// Purpose: what is under the pointer in the plot: the instant, the step and phase, the level and the largest
// bands.

import {bytes} from '../scale/bytes';
import {instant} from '../scale/time';
import {Columns, SOURCE} from '../store/columns';
import type {Plot} from './plot';

const MOST = 5;

export class Tooltip {
  readonly element = document.createElement('div');
  private columns: Columns|null = null;
  private dismissed: number|null = null;

  constructor(private readonly plot: Plot) {
    this.element.className = 'tooltip';
    this.element.hidden = true;
  }

  /** Hides it until the pointer moves: after a key it would stand beside another instant. */
  dismiss(): void { this.dismissed = this.plot.hover; }

  private line(text: string, kind = ''): HTMLElement {
    const line = document.createElement('div');
    line.textContent = text;
    line.className = kind;
    return line;
  }

  private bandLine(band: number, held: number): HTMLElement {
    const line = document.createElement('div'), swatch = document.createElement('span');
    const name = document.createElement('span'), amount = document.createElement('span');
    line.className = 'pair';
    swatch.className = 'swatch';
    swatch.dataset.band = this.plot.store.tables.bands[band].replace(/ /g, '-');
    name.textContent = this.plot.store.tables.bands[band];
    amount.textContent = bytes(held);
    amount.className = 'amount';
    line.append(swatch, name, amount);
    return line;
  }

  /** Shows the column under the pointer in the lane that has the keyboard. */
  update(lane: number, hidden: number): void {
    const {hover, store, scale} = this.plot, {element} = this;
    element.hidden = hover === null || hover === this.dismissed || store.info.lanes.length === 0;
    if (hover === null || element.hidden) return;
    const bands = store.tables.bands.length;
    if (this.columns === null || this.columns.stride !== bands + 1) this.columns = new Columns(1, bands);
    const {columns} = this, grain = scale.grain;
    store.columns(lane, hidden)
        .fill(scale.from + Math.floor((hover - scale.from) / grain) * grain, grain, columns);
    const held: [number, number][] = [];
    for (let b = 0; b < bands; b++) {
      if (columns.bands[b] > 0 && ((hidden >> b) & 1) === 0) held.push([b, columns.bands[b]]);
    }
    held.sort((a, b) => b[1] - a[1]);
    const place = this.plot.model.where(hover), level = columns.highest[0];
    const head = this.line(`${instant(hover, grain * 4)}${place === '' ? '' : `, ${place}`}`, 'strong');
    const rest = held.slice(MOST).reduce((sum, one) => sum + one[1], 0);
    const exact = columns.source[0] === SOURCE.rows;
    element.replaceChildren(
        head, this.line(`${bytes(level)}${exact ? '' : ' at most here'}`),
        ...held.slice(0, MOST).map(([band, amount]) => this.bandLine(band, amount)));
    if (rest > 0) element.append(this.line(`${held.length - MOST} more ${bytes(rest)}`, 'muted'));
    const x = scale.x(hover), width = element.offsetWidth;
    const left = x + 16 + width > scale.left + scale.width ? x - 16 - width : x + 16;
    element.style.setProperty(
        'transform', `translate(${Math.round(left)}px, ${this.plot.layout.lanes[0].top}px)`);
  }
}
