// Purpose: unpack byte planes: all lowest bytes of a column, then all second bytes, and so on.

export interface Column {
  u8: Uint8Array;
  u32: Uint32Array;
  i64: Float64Array;
  f64: Float64Array;
}

/** Bytes of one element by type. */
export const WIDTHS: Readonly<Record<string, number>> = {
  u8: 1,
  u32: 4,
  i64: 8,
  f64: 8,
  utf8: 1
};

const TWO_32 = 4294967296;

function bytesOf(planes: Uint8Array, count: number, delta: boolean): Uint8Array {
  const out = planes.slice(0, count);
  if (delta) {
    for (let i = 1; i < count; i++) out[i] += out[i - 1];
  }
  return out;
}

/** Four planes from `first` on, as numbers of 32 bits. */
function words(planes: Uint8Array, first: number, count: number): Uint32Array {
  const out = new Uint32Array(count);
  const a = first * count, b = a + count, c = b + count, d = c + count;
  for (let i = 0; i < count; i++) {
    out[i] = planes[a + i] | (planes[b + i] << 8) | (planes[c + i] << 16) | (planes[d + i] << 24);
  }
  return out;
}

function sumWords(out: Uint32Array): void {
  for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
}

function integers(planes: Uint8Array, count: number, delta: boolean): Float64Array {
  const low = words(planes, 0, count), high = words(planes, 4, count);
  const out = new Float64Array(count);
  let before = 0;
  for (let i = 0; i < count; i++) {
    const value = (high[i] | 0) * TWO_32 + low[i];
    before = delta ? before + value : value;
    out[i] = before;
  }
  return out;
}

function doubles(planes: Uint8Array, count: number): Float64Array {
  const bytes = new Uint8Array(count * 8);
  for (let plane = 0; plane < 8; plane++) {
    for (let i = 0; i < count; i++) bytes[i * 8 + plane] = planes[plane * count + i];
  }
  return new Float64Array(bytes.buffer);
}

/** The `count` elements of a column; with `delta` each was stored as the difference to the one before. */
export function unpack<T extends keyof Column>(
    planes: Uint8Array, type: T, count: number, delta: boolean): Column[T];
export function unpack(
    planes: Uint8Array, type: keyof Column, count: number, delta: boolean): Column[keyof Column] {
  switch (type) {
    case 'u8':
      return bytesOf(planes, count, delta);
    case 'u32': {
      const out = words(planes, 0, count);
      if (delta) sumWords(out);
      return out;
    }
    case 'i64':
      return integers(planes, count, delta);
    case 'f64':
      return doubles(planes, count);
  }
}
