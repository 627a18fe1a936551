// Purpose: text that fits a width, measured once.

const widths = new Map<string, number>();
const MOST = 20000;
const fonts = new WeakMap<CanvasRenderingContext2D, string>();

/**
 * Sets the font. It is kept here, because the context takes 80 us to find a font, and spells it out again for each
 * question.
 */
export function setFont(context: CanvasRenderingContext2D, font: string): void {
  if (fonts.get(context) === font) return;
  context.font = font;
  fonts.set(context, font);
}

/** A canvas forgets its font when its size changes. */
export function forgetFont(context: CanvasRenderingContext2D): void { fonts.delete(context); }

/** The width of a text in the font of the last `setFont`. */
export function widthOf(context: CanvasRenderingContext2D, text: string): number {
  const key = `${fonts.get(context) ?? ''}|${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > MOST) widths.clear();
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** Text of the program without what would change the direction or the line of other text. */
export function tame(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** The text, or its beginning with an ellipsis, or "" if not even three letters fit. */
export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 18) return '';
  const short = text.length > 400 ? text.slice(0, 400) : text;
  if (short === text && widthOf(context, text) <= room) return text;
  let low = 0, high = Math.min(short.length, Math.ceil(room / 2));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(context, short.slice(0, middle) + '\u2026') <= room)
      low = middle;
    else
      high = middle - 1;
  }
  return low < 3 ? '' : short.slice(0, low) + '\u2026';
}
