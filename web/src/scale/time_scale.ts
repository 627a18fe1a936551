// Purpose: between instants and pixels.

export class TimeScale {
  constructor(readonly from: number, readonly to: number, readonly left: number, readonly width: number) {}

  /** ns of one pixel. */
  get grain(): number { return (this.to - this.from) / Math.max(1, this.width); }

  x(t: number): number { return this.left + (t - this.from) / (this.to - this.from) * this.width; }

  t(x: number): number { return this.from + (x - this.left) / Math.max(1, this.width) * (this.to - this.from); }
}
