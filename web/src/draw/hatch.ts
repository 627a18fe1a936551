// Purpose: fill a rectangle with the colour of a band and its hatch.

import type {Palette} from './palette';

const patterns = new WeakMap<Palette, (CanvasPattern | null)[]>();

function make(context: CanvasRenderingContext2D, kind: number, background: string): CanvasPattern|null {
  const tile = document.createElement('canvas'), size = kind >= 3 ? 4 : 8;
  tile.width = size;
  tile.height = size;
  const inside = tile.getContext('2d');
  if (inside === null) return null;
  inside.fillStyle = background;
  inside.globalAlpha = 0.38;
  for (let i = 0; i < size; i++) {
    if (kind >= 3) {
      if (i === 0) inside.fillRect(0, 0, kind === 3 ? 1 : size, 1);
      continue;
    }
    const x = kind === 1 ? 7 - i : i;
    inside.fillRect(x, i, 1, 1);
    inside.fillRect((x + 1) % 8, i, 1, 1);
  }
  return context.createPattern(tile, 'repeat');
}

export function fillBand(
    context: CanvasRenderingContext2D, band: number, x: number, y: number, width: number, height: number,
    palette: Palette): void {
  context.fillStyle = palette.bands[band];
  context.fillRect(x, y, width, height);
  const kind = palette.pattern[band];
  if (kind === 0) return;
  let known = patterns.get(palette);
  if (known === undefined) {
    known = [null, 1, 2, 3, 4].map((one) => (one === null ? null : make(context, one, palette.background)));
    patterns.set(palette, known);
  }
  const pattern = known[kind];
  if (pattern === null) return;
  context.fillStyle = pattern;
  context.fillRect(x, y, width, height);
}

/** A plate of the band's own colour below a text on a hatched band. */
export function underText(
    context: CanvasRenderingContext2D, band: number, x: number, y: number, width: number, height: number,
    palette: Palette): void {
  if (palette.pattern[band] === 0) return;
  context.fillStyle = palette.bands[band];
  context.fillRect(x, y, width, height);
}
