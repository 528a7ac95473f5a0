import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** What a proxy does to the bytes at the moment; one object for all its lanes. */
export interface Faults {
  hang: boolean;
  delay: number;
  split: boolean;
}

type Passage = { due: number } & ({ bytes: Buffer } | { bytes: undefined; destroy: boolean });

/** One direction of one proxied connection: keeps the order of bytes and of the end, whatever the faults. */
export class ProxyLane {
  readonly #target: Socket;
  readonly #faults: Readonly<Faults>;
  readonly #queue: Passage[] = [];
  #timer: NodeJS.Timeout | undefined;
  #pieces = 0;

  constructor(target: Socket, faults: Readonly<Faults>) {
    this.#target = target;
    this.#faults = faults;
  }

  pass(bytes: Buffer): void {
    this.#enqueue({ bytes, due: this.#due() });
  }

  /** `destroy` where the other side is gone, else it has only said all that it will. */
  end(destroy: boolean): void {
    this.#enqueue({ bytes: undefined, destroy, due: this.#due() });
  }

  /** Delivers what is due; to be called when a fault goes. */
  pump(): void {
    while (!this.#faults.hang && this.#timer === undefined) {
      const head = this.#queue[0];
      if (head === undefined) return;
      const wait = head.due - performance.now();
      if (wait > 0) this.#pumpLater(wait);
      else this.#deliver(head);
    }
  }

  drop(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  #due(): number {
    return performance.now() + this.#faults.delay;
  }

  #enqueue(passage: Passage): void {
    this.#queue.push(passage);
    this.pump();
  }

  #pumpLater(wait: number): void {
    this.#timer = setTimeout(() => {
      // Behind a look at the sockets: after a pause of the machine two timers run without one between them, and a receiver of
      // this process would read two pieces as one chunk.
      setImmediate(() => {
        this.#timer = undefined;
        this.pump();
      });
    }, wait);
  }

  #deliver(head: Passage): void {
    if (head.bytes === undefined) {
      this.#queue.shift();
      if (head.destroy) this.#target.destroySoon();
      else this.#target.end();
      return;
    }
    const size = this.#faults.split ? (this.#pieces++ % 3) + 1 : head.bytes.length;
    const piece = head.bytes.subarray(0, size);
    head.bytes = head.bytes.subarray(size);
    if (head.bytes.length === 0) this.#queue.shift();
    if (this.#target.writable) this.#target.write(piece);
    // A pause between pieces, or the receiver would read them as one chunk again.
    if (this.#faults.split) this.#pumpLater(0);
  }
}
