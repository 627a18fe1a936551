// Purpose: know whether an element can be seen, so that nothing is drawn below the edge of the window.

let printing = false;
addEventListener('beforeprint', () => (printing = true));
addEventListener('afterprint', () => (printing = false));

/** Elements this near to the window count as seen, so that scrolling finds them drawn. */
const MARGIN = '160px';

export class InView {
  private seen = true;

  /** `entered` is called when the element comes into view, to draw what changed meanwhile. */
  constructor(element: Element, entered: () => void) {
    const observer = new IntersectionObserver((entries) => {
      const before = this.seen;
      this.seen = entries[entries.length - 1].isIntersecting;
      if (this.seen && !before) entered();
    }, {rootMargin: MARGIN});
    observer.observe(element);
  }

  /** True if a drawing would be seen, or printed. */
  get now(): boolean { return this.seen || printing; }
}
