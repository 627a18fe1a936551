// Purpose: makes names from the traced program safe to show: no control characters, no marks that turn text
// around.

// Control characters, marks of direction, separators of lines, and characters without width.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
// Halves of a pair without the other half: no encoding has them, so a copy of them would be damaged.
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(^|[^\ud800-\udbff])[\udc00-\udfff]/g;

function escaped(character: string): string {
  return '\\u' + character.charCodeAt(0).toString(16).padStart(4, '0');
}

/** Returns `name` with each unsafe character as an escape such as \u202e. */
export function printable(name: string): string {
  return name.replace(UNSAFE, escaped).replace(LONE, (_, before?: string) => (before ?? '') + '\ufffd');
}

/**
 * Returns at most `most` characters of a printable name: its start and its end, which tell more than its
 * middle.
 */
export function clipped(name: string, most = 160): string {
  const characters = name.length <= most ? null : [...name];
  if (characters === null || characters.length <= most) return name;
  const head = Math.ceil((most - 1) * 0.6);
  return characters.slice(0, head).join('') + '\u2026' +
      characters.slice(characters.length - (most - 1 - head)).join('');
}
