/** Most items that travel in one call: Lua's stack carries no more arguments than a few thousand. */
const MOST = 1000;

/**
 * Calls that travel together. What is added in one turn of the event loop is sent as one batch; while a
 * batch is under way the next one gathers. A lone item is sent in the same turn.
 */
export class GroupCommit<Item> {
  readonly #send: (batch: Item[], done: () => void) => void;
  #gathered: Item[] = [];
  #busy = false;

  /** `send` settles each item itself, and calls `done` once when the next batch may go. */
  constructor(send: (batch: Item[], done: () => void) => void) {
    this.#send = send;
  }

  add(item: Item): void {
    this.#gathered.push(item);
    if (this.#busy) return;
    this.#busy = true;
    this.#sendSoon();
  }

  // After a reply, too, on the next tick: by then those whom it woke have added what they want next.
  readonly #sendSoon = (): void => process.nextTick(this.#flush);

  readonly #flush = (): void => {
    const batch = this.#gathered.length > MOST ? this.#gathered.splice(0, MOST) : this.#gathered;
    if (batch === this.#gathered) this.#gathered = [];
    if (batch.length === 0) this.#busy = false;
    else this.#send(batch, this.#sendSoon);
  };
}
