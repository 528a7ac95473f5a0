import type { Linked } from './linked-list.js';
import { LinkedList } from './linked-list.js';

/**
 * A `LinkedList` in which one can be found by its id. The index is made when it is first asked for
 * and forgotten with the last item: most come and go without anybody asking, see there for what a
 * Map would cost them.
 */
export class IndexedList<T extends Linked<T> & { readonly id: string }> extends LinkedList<T> {
  #index: Map<string, T> | undefined;

  override add(item: T): void {
    super.add(item);
    this.#index?.set(item.id, item);
  }

  override remove(item: T): boolean {
    if (!super.remove(item)) return false;
    if (this.size === 0) this.#index = undefined;
    else this.#index?.delete(item.id);
    return true;
  }

  get(id: string): T | undefined {
    if (this.size === 0) return undefined;
    this.#index ??= new Map(this.toArray().map((item) => [item.id, item]));
    return this.#index.get(id);
  }
}
