/** Keys without a sign, by what a terminal sends; some send ESC O in place of ESC [. */
const KEYS: Readonly<Record<string, string>> = {
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
};

const ESCAPE = '\x1b';

/** An escape sequence, or else one sign. */
const PART = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])|[^]`, 'gu');

/**
 * The keys in what a terminal in raw mode sent at once: each by its name, or the sign that was
 * typed; empty for all others.
 */
export function keysIn(text: string): string[] {
  return (text.match(PART) ?? []).map((part) => {
    const name = KEYS[part.replace(`${ESCAPE}O`, `${ESCAPE}[`)];
    return name ?? (/^\p{C}/u.test(part) ? '' : part);
  });
}

/** A line of text after one more key. */
export function edited(line: string, key: string): string {
  if (key === 'delete') return line.slice(0, -1);
  return Array.from(key).length === 1 ? line + key : line;
}
