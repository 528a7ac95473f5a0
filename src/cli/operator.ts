import { backendOf } from '../clients.js';
import { listSemaphores, Semaphore, type SemaphoreState, systemClock } from '../index.js';
import { isAnswer } from '../sampler/call-source.js';
import { Sampler } from '../sampler/sampler.js';
import type { Arguments } from './arguments.js';
import { prefixOf, serverSettings } from './server-options.js';
import { connect } from './connect.js';
import { describe, throwAsUsage, usageOf } from './failure.js';
import type { Server } from './clients.js';

/** As `inspect` returns it, but the limit is null if it is not stored and no process named it. */
export type SemaphoreSummary = Omit<SemaphoreState, 'limit' | 'limitFrom'> & {
  readonly limit: number | null;
};

/** A semaphore with foreign data in its keys, and the error of the server or the library. */
export interface Unreadable {
  readonly name: string;
  readonly error: string;
}

const AT_A_TIME = 20;

/** Connects, does the work, and disconnects, also after an error. */
export async function withOperator<T>(
  args: Arguments,
  work: (operator: Operator) => Promise<T>,
): Promise<T> {
  const server = await connect(serverSettings(args));
  try {
    return await work(new Operator(server, prefixOf(args)));
  } finally {
    server.disconnect();
  }
}

/** Reads and changes semaphores; it is neither a holder nor a waiter. */
export class Operator {
  readonly #server: Server;
  readonly #prefix: string;

  constructor(server: Server, prefix: string) {
    this.#server = server;
    this.#prefix = prefix;
  }

  /** Whether the client has a connection now, as far as the client shows it. */
  get connected(): boolean {
    return this.#server.connected();
  }

  /** @param interval milliseconds between two looks */
  sampler(interval: number): Sampler {
    const options = { prefix: this.#prefix, clock: systemClock, interval };
    return new Sampler(backendOf(this.#server.target), options);
  }

  /** The names of all semaphores that were in use within the last day, sorted. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    const all = usageOf(() => listSemaphores(this.#server.target, { prefix: this.#prefix }));
    for await (const name of all) names.push(name);
    return names.toSorted();
  }

  async inspect(name: string): Promise<SemaphoreSummary> {
    // `inspect` changes nothing, so the limit does not matter.
    const { name: own, limit, limitFrom, ...rest } = await this.#semaphore(name, 1).inspect();
    return { name: own, limit: limitFrom === 'options' ? null : limit, ...rest };
  }

  /**
   * Reads semaphores, a few at a time. A semaphore that cannot be read does not hide the others.
   * @throws when the server does not answer, or no semaphore can be read
   */
  async inspectAll(names: readonly string[]): Promise<(SemaphoreSummary | Unreadable)[]> {
    const summaries: (SemaphoreSummary | Unreadable)[] = [];
    const errors: unknown[] = [];
    for (let i = 0; i < names.length; i += AT_A_TIME) {
      const some = names.slice(i, i + AT_A_TIME).map((name) =>
        this.inspect(name).catch((error: unknown) => {
          // The server answered with an error, so it may answer for the next name.
          if (!(error instanceof Error) || !isAnswer(error.cause)) throw error;
          errors.push(error);
          return { name, error: describe(error) };
        }),
      );
      summaries.push(...(await Promise.all(some)));
    }
    if (errors.length > 0 && errors.length === names.length) throw errors[0];
    return summaries;
  }

  /**
   * Changes a semaphore by an object with the limit that other processes use: no process sees a
   * mismatch, and waiters get permits.
   * @param otherwise the limit of the object if no limit is known
   */
  async change<T>(
    name: string,
    change: (semaphore: Semaphore) => Promise<T>,
    otherwise = 1,
  ): Promise<T> {
    // A stored limit may be 0, but an object's limit may not. The stored limit counts in any case.
    const limit = Math.max(1, (await this.inspect(name)).limit ?? otherwise);
    await using semaphore = this.#semaphore(name, limit);
    return await change(semaphore).catch(throwAsUsage);
  }

  #semaphore(name: string, limit: number): Semaphore {
    return usageOf(() => new Semaphore(this.#server.target, name, { limit, prefix: this.#prefix }));
  }
}
