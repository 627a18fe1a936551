// Purpose: say short texts to screen readers, at most twice a second.

const PAUSE = 500; // ms

export class Announcer {
  private readonly element = document.createElement('div');
  private waiting = 0;
  private text = '';

  constructor() {
    this.element.setAttribute('role', 'status');
    this.element.setAttribute('aria-live', 'polite');
    this.element.className = 'unseen';
    this.element.id = 'live';
    document.body.append(this.element);
  }

  say(text: string): void {
    this.text = text;
    if (this.waiting !== 0) return;
    this.waiting = setTimeout(() => {
                     this.waiting = 0;
                     this.element.textContent = this.text;
                   }, PAUSE) as unknown as number;
  }
}
