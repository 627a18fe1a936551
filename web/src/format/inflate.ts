// Purpose: turn the text of the data element into the bytes of the block: base64, then gzip.

import {DamagedPage} from './damage';

function fromBase64(text: string): Uint8Array {
  if (Uint8Array.fromBase64 !== undefined) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const out = new Uint8Array(characters.length);
  for (let i = 0; i < out.length; i++) out[i] = characters.charCodeAt(i);
  return out;
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const {done, value} = await reader.read();
    if (done || value === undefined) break;
    parts.push(value);
    size += value.length;
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Throws DamagedPage if the text is not base64 of gzip, or if the browser cannot inflate. */
export async function inflate(text: string): Promise<Uint8Array> {
  if (typeof DecompressionStream === 'undefined') {
    throw new DamagedPage('this browser cannot inflate data (it needs DecompressionStream, of 2023 or later)');
  }
  try {
    const packed = new Blob([fromBase64(text.trim())]);
    return await collect(packed.stream().pipeThrough(new DecompressionStream('gzip')));
  } catch {
    throw new DamagedPage('the data is cut off or changed');
  }
}
