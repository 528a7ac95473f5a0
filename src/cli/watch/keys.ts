export type KeyName =
  | 'up'
  | 'down'
  | 'page up'
  | 'page down'
  | 'first'
  | 'last'
  | 'enter'
  | 'escape'
  | 'delete'
  | 'interrupt'
  | 'other';

export interface Key {
  readonly name: KeyName;
  /** The sign that was typed; empty for all other keys. */
  readonly text: string;
}

const ESCAPE = '\x1b';

const KEYS: Record<string, KeyName> = {
  '\x1b[A': 'up',
  '\x1bOA': 'up',
  '\x1b[B': 'down',
  '\x1bOB': 'down',
  '\x1b[5~': 'page up',
  '\x1b[6~': 'page down',
  '\x1b[H': 'first',
  '\x1bOH': 'first',
  '\x1b[1~': 'first',
  '\x1b[F': 'last',
  '\x1bOF': 'last',
  '\x1b[4~': 'last',
  '\r': 'enter',
  '\n': 'enter',
  '\x1b': 'escape',
  '\x7f': 'delete',
  '\b': 'delete',
  '\x03': 'interrupt',
  '\x04': 'interrupt',
};

/** An escape sequence, or else one sign. */
const PART = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])|[^]`, 'gu');

/** The keys in what a terminal in raw mode sent at once. */
export function keysIn(text: string): Key[] {
  const parts = text.match(PART) ?? [];
  return parts.map((part) => {
    const name = KEYS[part] ?? 'other';
    const isSign = name === 'other' && !/^\p{C}/u.test(part);
    return { name, text: isSign ? part : '' };
  });
}
