// Purpose: widths of elements without a layout in every frame.

const widths = new WeakMap<Element, number>();

const observer = new ResizeObserver((entries) => {
  let changed = false;
  for (const {target} of entries) {
    changed = changed || widths.get(target) !== target.clientWidth;
    widths.set(target, target.clientWidth);
  }
  if (changed) dispatchEvent(new Event('resize'));
});

/** The inner width in CSS pixels; after a change of it a resize event asks for a new drawing. */
export function measuredWidth(element: Element): number {
  let width = widths.get(element);
  if (width === undefined) {
    width = element.clientWidth;
    widths.set(element, width);
    observer.observe(element);
  }
  return width;
}
