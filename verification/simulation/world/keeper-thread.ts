import type { Keep, KeptSemaphore, LeaseKeeper } from '../../../src/backends/lease-keeper.js';
import { KeptLeases } from '../../../src/keeper/kept-leases.js';
import { together } from '../../../src/keeper/messages.js';
import { renewLeases } from '../../../src/keeper/renewer.js';
import type { Clock } from '../../../src/index.js';
import type { Random } from '../random.js';
import type { Gate } from './gate.js';
import { Link, remoteBackend } from './link.js';
import { SimulatedProcess } from './process.js';

/** The longest way of a message between two threads, in milliseconds. */
const MESSAGE = 0.5;

/**
 * The second thread of a simulated process: it has its own timers and its own connection, reads the
 * same clock, and continues while the first one stalls.
 */
export class KeeperThread implements LeaseKeeper {
  readonly link: Link;
  readonly #thread: SimulatedProcess;
  readonly #leases: KeptLeases;

  constructor(process: SimulatedProcess, gate: Gate, random: Random, maxStall: number) {
    const { scheduler, clock, name } = process;
    const thread = new SimulatedProcess(`${name}+keeper`, scheduler, clock.rate, random);
    this.#thread = thread;
    this.link = new Link(thread, gate, random, random.chance(0.5));
    process.onKilled.push(() => {
      thread.kill();
      this.link.abandon();
    });
    const shared: Clock = {
      monotonic: () => clock.monotonic(),
      wall: () => clock.wall(),
      schedule: (callback, delay) => thread.clock.schedule(callback, delay),
      random: () => random.next(),
    };
    const soon = (run: () => void, of: SimulatedProcess): void => {
      of.runAt(scheduler.now + random.real(0, MESSAGE), run);
    };
    this.#leases = new KeptLeases({
      clock,
      maxStall,
      send: together((orders) => {
        soon(() => orders.forEach(obey), thread);
      }),
      warn: () => undefined,
    });
    const obey = renewLeases({
      backend: remoteBackend(this.link),
      clock: shared,
      shared: this.#leases.shared,
      maxStall,
      notify: together((notices) => {
        soon(() => notices.forEach((notice) => this.#leases.hear(notice)), process);
      }),
      // The handles of the stalled process have changed.
      onOutcome: () => void SimulatedProcess.touched.add(process),
    });
  }

  get timers(): number {
    return this.#thread.clock.timers;
  }

  open(semaphore: KeptSemaphore): Keep {
    return this.#leases.open(semaphore);
  }
}
