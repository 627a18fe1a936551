// Purpose: highest and lowest element of any range of a column, in a time that grows with its logarithm.

const FAN = 8;

/**
 * Levels over a column of highest and a column of lowest values. Level 0 is the columns themselves. Each node
 * keeps the leaf of its highest value, so what belongs to that leaf is a value that occurred together with the
 * highest.
 */
export class Pyramid {
  private readonly leaf: Uint32Array[] = [];
  private readonly low: Float64Array[] = [];
  /** Results of the last query: the first leaf of the highest value (-1: empty range), and the lowest value. */
  best = -1;
  least = Infinity;

  constructor(private readonly highest: Float64Array, private readonly lowest: Float64Array) {
    let size = highest.length;
    while (size > 1) {
      size = this.addLevel(size);
    }
  }

  private addLevel(below: number): number {
    const size = Math.ceil(below / FAN), leaf = new Uint32Array(size), low = new Float64Array(size);
    const under = this.leaf.length;
    for (let i = 0; i < size; i++) {
      let best = -1, least = Infinity;
      const end = Math.min(below, (i + 1) * FAN);
      for (let j = i * FAN; j < end; j++) {
        const at = under === 0 ? j : this.leaf[under - 1][j];
        if (best < 0 || this.highest[at] > this.highest[best]) best = at;
        least = Math.min(least, under === 0 ? this.lowest[j] : this.low[under - 1][j]);
      }
      leaf[i] = best;
      low[i] = least;
    }
    this.leaf.push(leaf);
    this.low.push(low);
    return size;
  }

  private take(level: number, node: number): void {
    const at = level === 0 ? node : this.leaf[level - 1][node];
    const least = level === 0 ? this.lowest[node] : this.low[level - 1][node];
    const best = this.best;
    if (best < 0 || this.highest[at] > this.highest[best] ||
        (this.highest[at] === this.highest[best] && at < best)) {
      this.best = at;
    }
    if (least < this.least) this.least = least;
  }

  /** Sets `best` and `least` for the leaves [from, to). */
  query(from: number, to: number): void {
    this.best = -1;
    this.least = Infinity;
    let level = 0, a = from, b = to;
    while (a < b) {
      while (a < b && a % FAN !== 0) this.take(level, a++);
      while (a < b && b % FAN !== 0) this.take(level, --b);
      a /= FAN;
      b /= FAN;
      level++;
    }
  }
}
