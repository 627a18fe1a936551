// Purpose: writes rows as tab-separated text, for a spreadsheet.

/**
 * Returns one cell. Tabs and line breaks become blanks, so a name cannot add cells. A spreadsheet runs a text
 * that begins like a formula, and names come from the traced program: such a text gets an apostrophe.
 */
export function cell(value: string|number|null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const line = value.replace(/[\t\r\n\v\f\u0085\u2028\u2029]+/g, ' ');
  return /^[=+\-@]/.test(line) && !/^[+-]?[\d.,]+$/.test(line) ? "'" + line : line;
}

export function tsv(head: readonly string[], rows: readonly(readonly(string | number | null)[])[]): string {
  return [head, ...rows].map((row) => row.map(cell).join('\t')).join('\n') + '\n';
}
