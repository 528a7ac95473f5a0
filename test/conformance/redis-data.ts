import type { SemaphoreKey } from '../../src/backend.js';
import { backendOf } from '../../src/targets.js';
import type { KeyView, Target, TicketTampering } from './row.js';
import { tamperingBy } from './tampering.js';

export type Command = (...args: string[]) => Promise<unknown>;

/** The keys of semaphores, read and changed with plain commands; the names of the keys are the contract's. */
export class RedisData implements KeyView, TicketTampering {
  readonly #command: Command;
  readonly #byBackend: TicketTampering;
  readonly #keyPrefix: string;

  /** `keyPrefix`: what the row's own client puts before each key. */
  constructor(command: Command, target: Target, keyPrefix = '') {
    this.#byBackend = tamperingBy(backendOf(target));
    this.#command = command;
    this.#keyPrefix = keyPrefix;
  }

  async remove(key: SemaphoreKey, id: string): Promise<void> {
    await this.#command('ZREM', this.#tickets(key), id);
  }

  age(key: SemaphoreKey, id: string, left: number): Promise<void> {
    return this.#byBackend.age(key, id, left);
  }

  async list(start: string): Promise<ReadonlyMap<string, number>> {
    const pattern = `${this.#keyPrefix}${start}*`;
    const keys = (await this.#command('KEYS', pattern)) as string[];
    const lives = await Promise.all(keys.map((key) => this.#command('PTTL', key)));
    return new Map(keys.map((key, i) => [key, Number(lives[i])]));
  }

  async delete(...keys: string[]): Promise<void> {
    await this.#command('DEL', ...keys.map((key) => this.#keyPrefix + key));
  }

  async setString(key: string, value: string): Promise<void> {
    await this.#command('SET', this.#keyPrefix + key, value);
  }

  #tickets({ prefix, name }: SemaphoreKey): string {
    return `${this.#keyPrefix}${prefix}:{${name}}:tickets`;
  }
}
