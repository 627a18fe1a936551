// Purpose: number what has the same four keys, in the order of first sight.

export class FrameIndex {
  private slots: Int32Array;
  private keys: Uint32Array;
  count = 0;

  constructor(expected: number) {
    let size = 16;
    while (size < expected * 2) size *= 2;
    this.slots = new Int32Array(size).fill(-1);
    this.keys = new Uint32Array(4 * Math.max(16, expected));
  }

  /** The number of these keys; a new one if they were never seen. */
  of(a: number, b: number, c: number, d: number): number {
    const mask = this.slots.length - 1;
    let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35) ^
        Math.imul(d, 0x27d4eb2f);
    hash ^= hash >>> 15;
    for (let slot = hash & mask;; slot = (slot + 1) & mask) {
      const at = this.slots[slot];
      if (at < 0) {
        this.slots[slot] = this.count;
        return this.add(a, b, c, d);
      }
      const k = at * 4;
      if (this.keys[k] === a && this.keys[k + 1] === b && this.keys[k + 2] === c && this.keys[k + 3] === d)
        return at;
    }
  }

  private add(a: number, b: number, c: number, d: number): number {
    const at = this.count++;
    if (at * 4 + 4 > this.keys.length) {
      const wider = new Uint32Array(this.keys.length * 2);
      wider.set(this.keys);
      this.keys = wider;
    }
    this.keys.set([a, b, c, d], at * 4);
    if (this.count * 2 > this.slots.length) this.rehash();
    return at;
  }

  private rehash(): void {
    const {keys, count} = this;
    this.slots = new Int32Array(this.slots.length * 2).fill(-1);
    this.count = 0;
    this.keys = keys;
    for (let i = 0; i < count; i++) this.of(keys[i * 4], keys[i * 4 + 1], keys[i * 4 + 2], keys[i * 4 + 3]);
  }
}
