// Purpose: a canvas of the size of its place, at most two device pixels for each pixel.

import {forgetFont} from './text';

export class Canvas {
  readonly element = document.createElement('canvas');
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  ratio = 1;

  /** Without transparency: the browser then copies it to the screen instead of blending it. */
  constructor() {
    const context = this.element.getContext('2d', {alpha: false});
    if (context === null) throw new Error('the browser has no 2D canvas');
    this.context = context;
  }

  /** Sets the size in CSS pixels; true if it changed. */
  fit(width: number, height: number): boolean {
    const ratio = Math.min(2, devicePixelRatio || 1);
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.element.width = Math.max(1, Math.round(width * ratio));
    this.element.height = Math.max(1, Math.round(height * ratio));
    forgetFont(this.context);
    this.element.style.setProperty('width', `${width}px`);
    this.element.style.setProperty('height', `${height}px`);
    return true;
  }

  /** Fills it with a colour and sets the unit to one CSS pixel. */
  begin(background: string): CanvasRenderingContext2D {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.fillStyle = background;
    this.context.fillRect(0, 0, this.width, this.height);
    return this.context;
  }
}

export const FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
