// Purpose: random numbers of a seed, so that a test fails the same way again.

export class Random {
  constructor(private state: number) {}

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number in [0, end). */
  below(end: number): number { return Math.floor(this.next() * end); }

  /** A length of time of this mean, at least 1. */
  wait(mean: number): number { return 1 + Math.floor(-Math.log(1 - this.next()) * mean); }
}
