import type { RateOptions, SemaphoreState } from '../index.js';
import { listSemaphores, Semaphore } from '../index.js';
import { describe, usageOf } from './failure.js';
import { samplerFor } from '../sampler/sampler-for.js';
import type { Sampler } from '../sampler/sampler.js';
import type { Server } from './server.js';

/** As `inspect` returns it, except for the limit: null where none is known. */
export type SemaphoreSummary = Omit<SemaphoreState, 'limit' | 'limitFrom'> & {
  readonly limit: number | null;
};

/**
 * A semaphore whose keys somebody else has written, and what the server or the library says of it.
 */
export interface Unreadable {
  readonly name: string;
  readonly error: string;
}

const AT_A_TIME = 20;

/** Looks at semaphores and changes them, without being a holder or a waiter. */
export class Operator {
  readonly #server: Server;
  readonly #prefix: string;
  readonly #inspectors = new Map<string, Semaphore>();

  constructor(server: Server, prefix: string) {
    this.#server = server;
    this.#prefix = prefix;
  }

  /** Whether the client has a connection now, as far as it says. */
  get connected(): boolean {
    return this.#server.connected();
  }

  /** @param interval milliseconds between two looks */
  sampler(interval: number): Sampler {
    return samplerFor(this.#server.target, this.#prefix, interval);
  }

  /** Names of all semaphores that were in use within the last day, in order. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    const all = listSemaphores(this.#server.target, { prefix: this.#prefix });
    for await (const name of all) names.push(name);
    return names.toSorted();
  }

  async inspect(name: string): Promise<SemaphoreSummary> {
    // `inspect` changes nothing, so that any limit will do.
    let inspector = this.#inspectors.get(name);
    if (inspector === undefined) {
      inspector = this.#semaphore(name, 1);
      this.#inspectors.set(name, inspector);
    }
    const { name: own, limit, limitFrom, ...rest } = await inspector.inspect();
    return { name: own, limit: limitFrom === 'options' ? null : limit, ...rest };
  }

  /**
   * Some at a time: faster than one by one, and still no burden. One that cannot be read does not
   * hide the others.
   * @throws when the server does not answer, or none can be read
   */
  async inspectAll(names: readonly string[]): Promise<(SemaphoreSummary | Unreadable)[]> {
    const summaries: (SemaphoreSummary | Unreadable)[] = [];
    const errors: unknown[] = [];
    for (let i = 0; i < names.length; i += AT_A_TIME) {
      const some = names.slice(i, i + AT_A_TIME).map((name) =>
        this.inspect(name).catch((error: unknown) => {
          if (!isAnswer(error)) throw error;
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
   * The limit that counts: the stored one, else that of whoever asked last; null where nobody did
   * within a day.
   */
  async limitOf(name: string): Promise<number | null> {
    return (await this.inspect(name)).limit;
  }

  /** Undefined removes the stored limit. */
  async setLimit(name: string, limit: number | undefined): Promise<void> {
    await using semaphore = await this.#withCurrentLimit(name, limit ?? 1);
    await semaphore.setLimit(limit);
  }

  /** Gives the new limit. It starts from 1 where nobody has said one. */
  async addPermits(name: string, delta: number): Promise<number> {
    await using semaphore = await this.#withCurrentLimit(name, 1);
    return await semaphore
      .addPermits(delta)
      .catch((error: unknown) => usageOf(() => rethrow(error)));
  }

  /** Undefined: there is none. */
  async setRate(name: string, rate: RateOptions | undefined): Promise<void> {
    await using semaphore = await this.#withCurrentLimit(name, 1);
    await semaphore.setRate(rate).catch((error: unknown) => usageOf(() => rethrow(error)));
  }

  /** False when there is no such ticket. */
  async revoke(name: string, ticket: string): Promise<boolean> {
    await using semaphore = await this.#withCurrentLimit(name, 1);
    return semaphore.revoke(ticket).catch((error: unknown) => usageOf(() => rethrow(error)));
  }

  /**
   * With the limit that others use, so that they see no mismatch and waiters get what comes free.
   */
  async #withCurrentLimit(name: string, otherwise: number): Promise<Semaphore> {
    usageOf(() => this.#semaphore(name, 1));
    // None is made with 0, which only `setLimit` stores: what others were made with does not matter
    // then.
    return this.#semaphore(name, Math.max(1, (await this.limitOf(name)) ?? otherwise));
  }

  #semaphore(name: string, limit: number): Semaphore {
    return usageOf(() => new Semaphore(this.#server.target, name, { limit, prefix: this.#prefix }));
  }
}

/** Whether the server said something, so that it may have more to say of the next name. */
function isAnswer(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return false;
  return cause.name === 'UnexpectedReplyError' || /^[A-Z]+ /.test(cause.message);
}

function rethrow(error: unknown): never {
  throw error;
}
