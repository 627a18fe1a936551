// Purpose: compares bytes per parameter with theory in one sentence, as the text of `memtrace explain` begins.

import {wordsOf} from '../wording/labels';
import {fixed} from '../wording/units';

import {ExplainDocument} from './answers';
import {ParameterRow} from './document';

/** Names of buffers such as "exp_avg" stay as they are. */
export function nameOf(row: ParameterRow): string {
  return row.name.includes('exp_avg') || row.role === 'buffer' ? row.name : wordsOf(row.name);
}

/** Returns "20.38 bytes per parameter kept, theory 16.00: +4.38 kept by malloc". */
export function headline(document: ExplainDocument): string {
  if (document.kept === undefined) return '';
  let text = `${fixed(document.kept, 2)} bytes per parameter kept`;
  if (document.theory === null || document.theory === undefined) return text;
  text += `, theory ${fixed(document.theory, 2)}`;
  const over = new Map<string, number>();
  for (const row of document.rows)
    if (row.kept) over.set(nameOf(row), (over.get(nameOf(row)) ?? 0) + row.per_parameter - (row.theory ?? 0));
  const parts = [...over].filter(([, value]) => Math.abs(value) >= 0.05).sort(([x], [y]) => x < y ? -1 : 1);
  return text +
      parts
          .map(
              ([what, value], index) =>
                  `${index === 0 ? ":" : ","} ${value > 0 ? "+" : ""}${fixed(value, 2)} ${what}`)
          .join('');
}
