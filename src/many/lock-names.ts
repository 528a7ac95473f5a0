import { LONGEST_NAME } from '../backends/protocol.js';
import { text } from '../options.js';
import { formatValue } from '../arguments/shown.js';
import { typeError } from '../arguments/validation.js';

/** In bytes. */
const LONGEST_OWN_NAME = 128;

/**
 * How the semaphores under a keyed mutex or a keyed semaphore are called. No two names, keys or
 * numbers of stripes share one.
 */
export class LockNames {
  /** A name without colons ends at the first one, so what follows may be anything. */
  readonly #own: string;

  constructor(name: unknown) {
    this.#own = text('name', name, 1, LONGEST_OWN_NAME);
    if (this.#own.includes(':')) {
      throw typeError(`name: expected no colon, got ${formatValue(name)}`);
    }
  }

  /** The name of the whole, where one thing is kept of all of them. */
  get ofAll(): string {
    return `keyed:${this.#own}`;
  }

  ofKey(key: string): string {
    return `${this.#start}${key}`;
  }

  ofStripe(stripe: number, stripes: number): string {
    return `striped:${this.#own}:${stripes}:${stripe}`;
  }

  /** Each key once, in the order given. */
  checkKeys(keys: unknown): string[] {
    const list = typeof keys === 'string' ? [keys] : keys;
    if (!Array.isArray(list)) {
      throw typeError(`keys: expected a string or an array of strings, got ${formatValue(keys)}`);
    }
    return [...new Set(list.map((key: unknown) => this.#checked('keys', key)))];
  }

  checkKey(key: unknown): string {
    return this.#checked('key', key);
  }

  #checked(option: string, key: unknown): string {
    return text(option, key, 1, LONGEST_NAME - Buffer.byteLength(this.#start));
  }

  get #start(): string {
    return `keyed:${this.#own}:`;
  }
}
