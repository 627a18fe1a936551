// Purpose: names of functions, files and phases, decoded from UTF-8 when they are first asked for.

import type {Block} from './block';
import {DamagedPage} from './damage';

export class Strings {
  private readonly known: (string|undefined)[];
  private readonly decoder = new TextDecoder();

  constructor(private readonly offset: Uint32Array, private readonly bytes: Uint8Array) {
    if (offset.length === 0 || offset[offset.length - 1] > bytes.length) {
      throw new DamagedPage('the names of the data are cut off');
    }
    for (let i = 1; i < offset.length; i++) {
      if (offset[i] < offset[i - 1]) throw new DamagedPage('the names of the data are out of order');
    }
    this.known = new Array<string|undefined>(offset.length - 1);
  }

  static read(block: Block): Strings {
    return new Strings(block.u32('strings.offset'), block.u8('strings.bytes'));
  }

  get count(): number { return this.known.length; }

  /** The text of a name; "" for an index out of range. */
  get(index: number): string {
    if (index >= this.known.length) return '';
    let text = this.known[index];
    if (text === undefined) {
      text = this.decoder.decode(this.bytes.subarray(this.offset[index], this.offset[index + 1]));
      this.known[index] = text;
    }
    return text;
  }
}
