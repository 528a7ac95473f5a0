/** Most items that travel in one call: Lua's stack carries no more arguments than a few thousand. */
const MOST = 1000;

/** Full batches under way at once: while the server works on one, the process works with the other's reply. */
const FULL_FLIGHTS = 2;

/**
 * Calls that travel together. What is added in one turn of the event loop is sent as one batch; while a
 * batch is under way the next one gathers, and goes early only when it is full. A lone item is sent in the same turn.
 */
export class GroupCommit<Item> {
  readonly #send: (batch: Item[], done: () => void) => void;
  #gathered: Item[] = [];
  #flights = 0;
  #scheduled = false;

  /** `send` settles each item itself, and calls `done` once when the next batch may go. */
  constructor(send: (batch: Item[], done: () => void) => void) {
    this.#send = send;
  }

  add(item: Item): void {
    this.#gathered.push(item);
    if (!this.#scheduled && this.#mayGo()) this.#schedule();
  }

  #mayGo(): boolean {
    if (this.#flights === 0) return this.#gathered.length > 0;
    return this.#flights < FULL_FLIGHTS && this.#gathered.length >= MOST;
  }

  // After a reply, too, on the next tick: by then those whom it woke have added what they want next.
  #schedule(): void {
    this.#scheduled = true;
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (!this.#mayGo()) return;
    const batch = this.#gathered.length > MOST ? this.#gathered.splice(0, MOST) : this.#gathered;
    if (batch === this.#gathered) this.#gathered = [];
    this.#flights += 1;
    this.#send(batch, this.#landed);
    if (this.#mayGo()) this.#schedule();
  };

  readonly #landed = (): void => {
    this.#flights -= 1;
    if (!this.#scheduled) this.#schedule();
  };
}
