// Purpose: write the block of data and the page around it, as the analyzer does. For tests only.

import {createHash} from 'node:crypto';
import {gzipSync} from 'node:zlib';

type Numbers = ArrayLike<number>;
type Kind = 'u8'|'u32'|'i64'|'f64';
const SIZE: Record<Kind, number> = {
  u8: 1,
  u32: 4,
  i64: 8,
  f64: 8
};

function rawBytes(kind: Kind, values: Numbers, delta: boolean): Uint8Array {
  const out = new Uint8Array(values.length * SIZE[kind]);
  const view = new DataView(out.buffer);
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    const value = delta ? values[i] - before : values[i];
    before = values[i];
    if (kind === 'u8')
      view.setUint8(i, value);
    else if (kind === 'u32')
      view.setUint32(i * 4, value, true);
    else if (kind === 'f64')
      view.setFloat64(i * 8, value, true);
    else
      view.setBigInt64(i * 8, BigInt(value), true);
  }
  return out;
}

function planes(raw: Uint8Array, size: number): Uint8Array {
  const count = raw.length / size, out = new Uint8Array(raw.length);
  for (let i = 0; i < count; i++) {
    for (let plane = 0; plane < size; plane++) out[plane * count + i] = raw[i * size + plane];
  }
  return out;
}

export class BlockWriter {
  private readonly directory: Record<string, object> = {};
  private readonly parts: Uint8Array[] = [];
  private offset = 0;

  private put(name: string, type: string, count: number, bytes: Uint8Array, delta: boolean): void {
    this.directory[name] = {type, count, offset: this.offset, bytes: bytes.length, ...(delta ? {delta} : {})};
    this.parts.push(bytes);
    this.offset += bytes.length;
  }

  add(name: string, kind: Kind, values: Numbers, delta = false): void {
    this.put(name, kind, values.length, planes(rawBytes(kind, values, delta), SIZE[kind]), delta);
  }

  json(name: string, value: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    this.put(name, 'utf8', bytes.length, bytes, false);
  }

  strings(names: readonly string[]): void {
    const encoded = names.map((name) => new TextEncoder().encode(name));
    const offset = new Uint32Array(names.length + 1);
    encoded.forEach((one, i) => (offset[i + 1] = offset[i] + one.length));
    const bytes = new Uint8Array(offset[names.length]);
    encoded.forEach((one, i) => bytes.set(one, offset[i]));
    this.add('strings.offset', 'u32', offset);
    this.add('strings.bytes', 'u8', bytes);
  }

  bytes(format = 'memtrace.page/1'): Uint8Array {
    const head = new TextEncoder().encode(JSON.stringify({format, sections: this.directory}));
    const out = new Uint8Array(4 + head.length + this.offset);
    new DataView(out.buffer).setUint32(0, head.length, true);
    out.set(head, 4);
    let at = 4 + head.length;
    for (const part of this.parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const escape = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

/**
 * The whole file. `spoil` damages the text of the data; `inject` is markup put into the body, for tests of the
 * policy.
 */
export function assemble(options: {
  block: Uint8Array; script: string; style: string; title: string; text: string;
  spoil?: (data: string) => string;
  inject?: string;
}): string {
  const {script, style} = options;
  const policy =
      `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:`;
  let data = base64(gzipSync(options.block, {level: 9}));
  if (options.spoil !== undefined) data = options.spoil(data);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memtrace: ${escape(options.title)}</title><style>${style}</style></head>
<body><div id="page"></div>${options.inject ?? ''}
<pre id="text">${escape(options.text)}</pre>
<script type="application/octet-stream" id="data">${data}</script>
<script>${script}</script></body></html>
`;
}
