export type KeyName = (typeof KEYS)[keyof typeof KEYS] | 'other';

export interface Key {
  readonly name: KeyName;
  /** The sign that was typed; empty for all other keys. */
  readonly text: string;
}

/** By what a terminal sends; some send ESC O in place of ESC [. */
const KEYS = {
  '\x1b[A': 'up',
  '\x1b[B': 'down',
  '\x1b[5~': 'page up',
  '\x1b[6~': 'page down',
  '\x1b[H': 'first',
  '\x1b[1~': 'first',
  '\x1b[F': 'last',
  '\x1b[4~': 'last',
  '\r': 'enter',
  '\n': 'enter',
  '\x1b': 'escape',
  '\x7f': 'delete',
  '\b': 'delete',
  '\x03': 'interrupt',
  '\x04': 'interrupt',
} as const;

const NAMES = new Map<string, KeyName>(Object.entries(KEYS));

const ESCAPE = '\x1b';

/** An escape sequence, or else one sign. */
const PART = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])|[^]`, 'gu');

/** The keys in what a terminal in raw mode sent at once. */
export function keysIn(text: string): Key[] {
  return (text.match(PART) ?? []).map((part) => {
    const name = NAMES.get(part.replace(`${ESCAPE}O`, `${ESCAPE}[`)) ?? 'other';
    const isSign = name === 'other' && !/^\p{C}/u.test(part);
    return { name, text: isSign ? part : '' };
  });
}
