import type { HistoryEvent, Report } from '../history/events.js';

interface Begun {
  readonly epoch: number;
  /** The highest token of each semaphore when the call began. */
  readonly floors: ReadonlyMap<string, number>;
}

/**
 * No token is given twice, and tokens rise from call to call: a call that begins after another has
 * ended gets a higher token.
 */
export class Tokens {
  readonly #report: Report;
  readonly #highest = new Map<string, number>();
  readonly #given = new Map<string, string>();
  readonly #begun = new Map<string, Begun>();
  #epoch = 0;

  constructor(report: Report) {
    this.#report = report;
  }

  /** A server without data makes tokens from its clock, which may be behind. */
  onTokensBegin(): void {
    this.#epoch += 1;
    this.#highest.clear();
    this.#given.clear();
  }

  read(event: HistoryEvent, isUnsure: boolean): void {
    if (event.type === 'invoke') {
      const floors = event.semaphores.map((name) => [name, this.#highest.get(name) ?? 0] as const);
      const begun = { epoch: this.#epoch, floors: new Map(floors) };
      this.#begun.set(`${event.process} ${event.call}`, begun);
    } else if (event.type === 'ok' || event.type === 'fail' || event.type === 'unknown') {
      const key = `${event.process} ${event.call}`;
      const begun = this.#begun.get(key);
      this.#begun.delete(key);
      // A grant that was on its way may have a token of before.
      if (event.type !== 'ok' || begun?.epoch !== this.#epoch || isUnsure) return;
      for (const ticket of event.tickets ?? []) this.#judge(ticket, begun, event.at);
    }
  }

  #judge(
    { id, semaphore, token }: { id: string; semaphore: string; token: number },
    { floors }: Begun,
    at: number,
  ): void {
    const floor = floors.get(semaphore) ?? 0;
    const other = this.#given.get(`${semaphore} ${token}`);
    if (other !== undefined) this.#report('fencing', at, `${id} has the token of ${other}`);
    else if (token <= floor) {
      this.#report('fencing', at, `${id} got token ${token} after a call that had got ${floor}`);
    }
    this.#given.set(`${semaphore} ${token}`, id);
    this.#highest.set(semaphore, Math.max(this.#highest.get(semaphore) ?? 0, token));
  }
}
