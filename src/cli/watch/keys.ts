export type Key = 'up' | 'down' | 'enter' | 'escape' | 'quit' | 'sort' | 'revoke' | 'yes' | 'other';

const ESCAPE = '\x1b';

const KEYS: Record<string, Key> = {
  '\x1b[A': 'up',
  '\x1bOA': 'up',
  k: 'up',
  '\x1b[B': 'down',
  '\x1bOB': 'down',
  j: 'down',
  '\r': 'enter',
  '\n': 'enter',
  '\x1b': 'escape',
  '\x7f': 'escape',
  q: 'quit',
  '\x03': 'quit',
  '\x04': 'quit',
  s: 'sort',
  r: 'revoke',
  y: 'yes',
  Y: 'yes',
};

/** An escape sequence, or else one sign. */
const PART = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])|[^]`, 'gu');

/** The keys in what a terminal in raw mode sent at once. */
export function keysIn(text: string): Key[] {
  const parts = text.match(PART) ?? [];
  return parts.map((part) => KEYS[part] ?? 'other');
}
