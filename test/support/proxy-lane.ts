import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** What a proxy does to the bytes at the moment; one object for all its lanes. */
export interface Faults {
  hang: boolean;
  delay: number;
  split: boolean;
}

/** One direction of one proxied connection: keeps the order of bytes and of the end, whatever the faults. */
export class ProxyLane {
  readonly #target: Socket;
  readonly #faults: Readonly<Faults>;
  readonly #queue: { what: Buffer | 'end' | 'destroy'; readonly due: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #pieces = 0;

  constructor(target: Socket, faults: Readonly<Faults>) {
    this.#target = target;
    this.#faults = faults;
  }

  /** `destroy` where the other side is gone, `end` where it has only said all that it will. */
  pass(what: Buffer | 'end' | 'destroy'): void {
    this.#queue.push({ what, due: performance.now() + this.#faults.delay });
    this.pump();
  }

  /** Delivers what is due; to be called when a fault goes. */
  pump(): void {
    while (!this.#faults.hang && this.#timer === undefined) {
      const [head] = this.#queue;
      if (head === undefined) return;
      const wait = head.due - performance.now();
      if (wait > 0) {
        this.#pumpLater(wait);
      } else if (head.what instanceof Buffer) {
        head.what = this.#deliver(head.what);
        if (head.what.length === 0) this.#queue.shift();
      } else {
        this.#queue.shift();
        if (head.what === 'end') this.#target.end();
        else this.#target.destroySoon();
      }
    }
  }

  drop(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
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

  /** Gives what is left of it. */
  #deliver(bytes: Buffer): Buffer {
    const size = this.#faults.split ? (this.#pieces++ % 3) + 1 : bytes.length;
    if (this.#target.writable) this.#target.write(bytes.subarray(0, size));
    // A pause between pieces, or the receiver would read them as one chunk again.
    if (this.#faults.split) this.#pumpLater(0);
    return bytes.subarray(size);
  }
}
