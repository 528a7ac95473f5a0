import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { isatty } from 'node:tty';
import type { Semaphore, SemaphoreState } from '../../index.js';
import { complain } from '../output.js';

/** How long nothing is said, in milliseconds: most waits are over by then. */
const SILENCE = 1000;

/** More holders are a number. */
const MOST_NAMED = 3;

const WAIT_CHANNEL = 'redsem:wait';

/** Says on a terminal what is waited for, once, when the wait has lasted a while. */
export class WaitingNote {
  readonly #semaphore: Semaphore;
  readonly #onWait = (message: unknown): void => {
    this.#request = String(Reflect.get(Object(message), 'id'));
  };
  #request: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
  }

  start(): void {
    if (!isatty(2)) return;
    subscribe(WAIT_CHANNEL, this.#onWait);
    this.#timer = setTimeout(() => void this.#say(), SILENCE);
  }

  stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    unsubscribe(WAIT_CHANNEL, this.#onWait);
  }

  async #say(): Promise<void> {
    // A server that does not answer is what the warnings are for.
    const state = await this.#semaphore.inspect().catch(() => undefined);
    if (state !== undefined && !this.#over) complain(waitingText(state, this.#request));
  }
}

/** @param request the id of the request, where it is known */
export function waitingText(state: SemaphoreState, request: string | undefined): string {
  const { name, limit, holders, waiters } = state;
  const place = waiters.find(({ id }) => id === request)?.position;
  const labels = holders.slice(0, MOST_NAMED).map(({ label }) => label);
  const others = holders.length - labels.length;
  const more = others > 0 ? ` and ${others} more` : '';
  const facts = [
    ...(place === undefined ? [] : [`place ${place + 1}`]),
    ...(limit === 0 ? ['paused'] : []),
    ...(labels.length > 0 ? [`held by ${labels.join(', ')}${more}`] : []),
  ];
  return `waiting for ${name}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`;
}
