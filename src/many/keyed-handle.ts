import { CompositeHandle } from './composite-handle.js';
import type { Handle } from '../handle.js';
import { quoted } from '../arguments/shown.js';
import { rangeError } from '../arguments/validation.js';

/** What the caller holds for several keys of a `KeyedMutex`. */
export class KeyedHandle extends CompositeHandle {
  /** Each once, in the order in which they were asked for. */
  readonly keys: readonly string[];
  readonly #byKey: ReadonlyMap<string, Handle>;

  /** @internal `parts`: each handle once, in the order in which they were taken. */
  constructor(name: string, byKey: ReadonlyMap<string, Handle>, parts: readonly Handle[]) {
    super(name, [...byKey.values()], parts);
    this.keys = [...byKey.keys()];
    this.#byKey = byKey;
  }

  /**
   * The handle of one key, which has its fencing token. With stripes several keys may share one.
   * @throws {RangeError} when the handle was acquired without this key
   */
  handleOf(key: string): Handle {
    const handle = this.#byKey.get(key);
    if (handle === undefined) {
      throw rangeError(`key: expected one of this handle's, got ${quoted(key)}`);
    }
    return handle;
  }

  /** @internal Stripes have names without their keys. */
  protected override describePart(part: Handle): string {
    const keys = this.keys.filter((key) => this.#byKey.get(key) === part);
    return `of ${keys.length === 1 ? 'key' : 'keys'} ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
  }
}
