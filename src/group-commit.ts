/** Most items that travel in one call: Lua's stack carries no more arguments than a few thousand. */
const MOST = 1000;

/**
 * Calls that travel together. What is added in one turn of the event loop is sent as one batch; while a
 * batch is under way the next one gathers. A lone item is sent in the same turn.
 */
export class GroupCommit<Item> {
  readonly #send: (batch: Item[]) => Promise<void>;
  #gathered: Item[] = [];
  #busy = false;

  /** `send` settles each item itself, never rejects, and resolves when the next batch may go. */
  constructor(send: (batch: Item[]) => Promise<void>) {
    this.#send = send;
  }

  add(item: Item): void {
    this.#gathered.push(item);
    if (this.#busy) return;
    this.#busy = true;
    process.nextTick(this.#flush);
  }

  // After a reply, too, on the next tick: by then those whom it woke have added what they want next.
  readonly #flush = (): void => {
    const batch = this.#gathered.length > MOST ? this.#gathered.splice(0, MOST) : this.#gathered;
    if (batch === this.#gathered) this.#gathered = [];
    if (batch.length === 0) {
      this.#busy = false;
      return;
    }
    void this.#send(batch).then(() => process.nextTick(this.#flush));
  };
}
