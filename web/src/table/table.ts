// Purpose: a table that sorts by a click on a heading, copies itself, and shows long lists in parts.

import {button, element} from '../dom/element';
import {count} from '../wording/units';

import {copy} from './clipboard';
import {Column} from './column';
import {isEmpty, sorted} from './sort';
import {tsv} from './tsv';

export interface Footer {
  readonly title: string;
  /** Fills the cells of the columns after the first; a missing one stays empty. */
  readonly fill: readonly(((cell: HTMLTableCellElement) => void)|null)[];
  readonly class
  ?: string;
}

export interface TableOptions<T> {
  /** Of the table element, for links and tests. */
  readonly id?: string;
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly sort?: {readonly column: number; readonly descending: boolean};
  readonly footer?: readonly Footer[];
  /** What a row shows when it is opened. */
  readonly details?: (row: T) => HTMLElement;
  /** False for a row without details; all have them without this. */
  readonly opens?: (row: T) => boolean;
  readonly rowClass?: (row: T) => string;
  readonly empty?: string;
  announce?(text: string): void;
}

const PART = 100; // rows: more take long to lay out, and nobody reads them at once

/** Returns the table with its heading line. It keeps its own order; the rows stay as they are. */
export function table<T>(options: TableOptions<T>): HTMLElement { return new Table(options).element; }

// Leaves out optional columns without any content, with their cells of the footer.
function withoutEmpty<T>(options: TableOptions<T>): TableOptions<T> {
  const kept = options.columns.map(
      (column) => column.optional !== true || options.rows.some((row) => !isEmpty(column.key(row))));
  if (kept.every((one) => one)) return options;
  const footer = options.footer?.map((one) => ({...one, fill: one.fill.filter((_, index) => kept[index + 1])}));
  return {...options, columns: options.columns.filter((_, index) => kept[index]), footer};
}

class Table<T> {
  readonly element = element('div', {class: 'table'});
  private readonly options: TableOptions<T>;
  private readonly body = element('tbody');
  private readonly headings: HTMLTableCellElement[] = [];
  private column: number|null;
  private descending: boolean;
  private shown = PART;
  private ordered: readonly T[];

  constructor(given: TableOptions<T>) {
    this.options = withoutEmpty(given);
    const {options} = this;
    this.column = options.sort?.column ?? null;
    this.descending = options.sort?.descending ?? false;
    this.ordered = options.rows;
    const caption = element('caption', {text: options.caption});
    const whole = element(
        'table', options.id === undefined ? {} : {attributes: {id: options.id}},
        [caption, this.head(), this.body]);
    if (options.footer !== undefined) whole.append(this.foot(options.footer));
    // A region that can be scrolled sideways needs the keyboard.
    const region = element(
        'div', {class: 'scroll', attributes: {tabindex: '0', role: 'region', 'aria-label': options.caption}},
        [whole]);
    this.element.append(this.tools(), region);
    this.sort();
  }

  private tools(): HTMLElement {
    const tell = element('span', {class: 'told', attributes: {'aria-live': 'polite'}});
    const take = async () => {
      const done = await copy(this.text());
      tell.textContent =
          done ? `Copied ${count(this.ordered.length)} rows` : 'The browser does not allow the copy';
    };
    return element(
        'div', {class: 'tools'},
        [tell, button('Copy as TSV', () => void take(), {title: 'Copies all rows, with exact bytes'})]);
  }

  private text(): string {
    const columns = this.options.columns.filter((one) => one.class !== 'bars');
    return tsv(columns.map((one) => one.title), this.ordered.map((row) => columns.map((one) => one.key(row))));
  }

  private head(): HTMLElement {
    const row = element('tr');
    this.options.columns.forEach((column, index) => {
      const css = column.number === true ? 'number' : column.class ?? '';
      const heading = element('th', {class: css, attributes: {scope: 'col'}});
      // A column of bars repeats figures that have a heading of their own.
      if (column.title === '')
        heading.setAttribute('aria-hidden', 'true');
      else
        heading.append(button(column.title, () => this.choose(index), {class: 'sort', title: column.hint}));
      this.headings.push(heading);
      row.append(heading);
    });
    return element('thead', {}, [row]);
  }

  private foot(rows: readonly Footer[]): HTMLElement {
    const foot = element('tfoot');
    for (const footer of rows) {
      const row = element('tr', {class: footer.class});
      row.append(element('th', {text: footer.title, attributes: {scope: 'row'}}));
      this.options.columns.slice(1).forEach((column, index) => {
        const cell = element('td', {class: column.number === true ? 'number' : column.class ?? ''});
        footer.fill[index]?.(cell);
        row.append(cell);
      });
      foot.append(row);
    }
    return foot;
  }

  private choose(index: number): void {
    const downwards = this.options.columns[index].number === true;
    this.descending = this.column === index ? !this.descending : downwards;
    this.column = index;
    this.sort();
    const words = this.descending ? 'downwards' : 'upwards';
    this.options.announce?.(`Sorted by ${this.options.columns[index].title}, ${words}`);
  }

  private sort(): void {
    const column = this.column === null ? null : this.options.columns[this.column];
    this.headings.forEach((heading, index) => {
      if (index === this.column)
        heading.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
      else
        heading.removeAttribute('aria-sort');
    });
    this.ordered = column === null ? this.options.rows :
                                     sorted(this.options.rows, (row) => column.key(row), this.descending);
    this.draw();
  }

  private draw(): void {
    const rows: Node[] = [];
    for (const row of this.ordered.slice(0, this.shown)) rows.push(this.row(row));
    const left = this.ordered.length - this.shown;
    if (left > 0) rows.push(this.across(this.more(left)));
    if (this.ordered.length === 0)
      rows.push(this.across(element('span', {text: this.options.empty ?? 'none'})));
    this.body.replaceChildren(...rows);
  }

  private across(content: Node): HTMLElement {
    const cell = element('td', {attributes: {colspan: String(this.options.columns.length)}}, [content]);
    return element('tr', {class: 'across'}, [cell]);
  }

  private more(left: number): HTMLElement {
    return button(`Show ${count(Math.min(left, PART))} of ${count(left)} more rows`, () => {
      this.shown += PART;
      this.draw();
    });
  }

  private row(row: T): HTMLElement {
    const line = element('tr', {class: this.options.rowClass?.(row)});
    this.options.columns.forEach((column, index) => {
      const cell = index === 0 ? element('th', {attributes: {scope: 'row'}}) : element('td');
      cell.className = column.number === true ? 'number' : column.class ?? '';
      column.fill(cell, row);
      if (index === 0) this.addOpener(cell, line, row);
      line.append(cell);
    });
    return line;
  }

  // The details are made when the row is first opened.
  private addOpener(cell: HTMLElement, line: HTMLElement, row: T): void {
    const make = this.options.details;
    if (make === undefined) return;
    if (this.options.opens?.(row) === false) {
      cell.classList.add('closed'); // in line with the rows that open
      return;
    }
    let opened: HTMLElement|null = null;
    const label = cell.textContent ?? '';
    const opener = button('', () => {
      const open = opener.getAttribute('aria-expanded') !== 'true';
      if (open && opened === null) {
        opened = this.across(make(row));
        opened.classList.add('details');
        line.after(opened);
      }
      if (opened !== null) opened.hidden = !open;
      opener.setAttribute('aria-expanded', String(open));
    }, {class: 'opener', attributes: {'aria-expanded': 'false', 'aria-label': `Details of ${label}`}});
    cell.prepend(opener);
  }
}
