// Purpose: read the block of data: a directory in JSON, then sections of columns. No byte of it is trusted.

import {DamagedPage} from './damage';
import {type Column, unpack, WIDTHS} from './planes';

export const FORMAT = 'memtrace.page/1';

interface Entry {
  readonly type: string;
  readonly count: number;
  readonly offset: number;
  readonly bytes: number;
  readonly delta: boolean;
}

function whole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function record(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function entry(name: string, value: unknown, room: number): Entry {
  if (!record(value) || !whole(value.count) || !whole(value.offset) || !whole(value.bytes) ||
      typeof value.type !== 'string') {
    throw new DamagedPage(`the entry of section ${name} is damaged`);
  }
  const width = WIDTHS[value.type];
  if (width === undefined) throw new DamagedPage(`section ${name} has the unknown type ${value.type}`);
  if (value.count * width !== value.bytes || value.offset + value.bytes > room) {
    throw new DamagedPage(`section ${name} is cut off`);
  }
  return {
    type: value.type,
    count: value.count,
    offset: value.offset,
    bytes: value.bytes,
    delta: value.delta === true
  };
}

/** The sections of one block; a section is unpacked when it is asked for. */
export class Block {
  private readonly entries = new Map<string, Entry>();
  private readonly sections: Uint8Array;

  /** Throws DamagedPage if the directory does not fit the bytes. */
  constructor(bytes: Uint8Array) {
    if (bytes.length < 4) throw new DamagedPage('the block of data is cut off');
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    if (size > bytes.length - 4) throw new DamagedPage('the directory of the data is cut off');
    this.sections = bytes.subarray(4 + size);
    const directory = parse('the directory', bytes.subarray(4, 4 + size));
    if (!record(directory) || directory.format !== FORMAT) {
      throw new DamagedPage(`the data is not of the format ${FORMAT}`);
    }
    if (!record(directory.sections)) throw new DamagedPage('the directory of the data has no sections');
    for (const [name, value] of Object.entries(directory.sections)) {
      this.entries.set(name, entry(name, value, this.sections.length));
    }
  }

  has(name: string): boolean { return this.entries.has(name); }

  private bytesOf(name: string, type: string): [Entry, Uint8Array] {
    const found = this.entries.get(name);
    if (found === undefined) throw new DamagedPage(`section ${name} is missing`);
    if (found.type !== type) throw new DamagedPage(`section ${name} is not of type ${type}`);
    return [found, this.sections.subarray(found.offset, found.offset + found.bytes)];
  }

  private column<T extends keyof Column>(name: string, type: T): Column[T] {
    const [found, bytes] = this.bytesOf(name, type);
    return unpack(bytes, type, found.count, found.delta);
  }

  u8(name: string): Uint8Array { return this.column(name, 'u8'); }

  u32(name: string): Uint32Array { return this.column(name, 'u32'); }

  /** Values of 64 bits, exact below 2^53. */
  i64(name: string): Float64Array { return this.column(name, 'i64'); }

  json(name: string): unknown { return parse(`section ${name}`, this.bytesOf(name, 'utf8')[1]); }
}

function parse(what: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytes));
  } catch {
    throw new DamagedPage(`${what} of the data cannot be read`);
  }
}
