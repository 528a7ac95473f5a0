import type { FaultEvent } from '../history/events.js';
import { endsAllTickets } from '../history/fault-effects.js';
import type { Certainty } from './certainty.js';

/** Milliseconds for which a reply that was sent before a fault may still be on its way. */
const IN_FLIGHT = 100;

/** Hears of tickets that faults took, or may have taken. */
export interface LossListener {
  /** All tickets of before are gone for certain, or may be gone. */
  onLoss(at: number, isCertain: boolean): void;
  /** Tokens may begin again. */
  onTokensBegin(): void;
}

/** What faults took from servers whose answers the history does not have. */
export class DataLosses {
  readonly #effectsOf: Certainty['effectsOf'];
  readonly #listeners: readonly LossListener[];
  /** The longest that a ticket stays on the server without an extension, in milliseconds. */
  readonly #life: () => number;
  /** How many such faults strike now, and until when a grant may be older than the last fault. */
  #active = 0;
  #until = -Infinity;
  /** The server's clock less true time, and the latest that it has shown. */
  #offset = 0;
  #latest = -Infinity;

  constructor(
    effects: Certainty['effectsOf'],
    life: () => number,
    listeners: readonly LossListener[],
  ) {
    this.#effectsOf = effects;
    this.#life = life;
    this.#listeners = listeners;
  }

  /** Whether a ticket that its holder gets now may be of before or after a loss. */
  isUnsure(at: number): boolean {
    return this.#active > 0 || at <= this.#until;
  }

  read(fault: FaultEvent): void {
    const effects = this.#effectsOf?.(fault);
    if (effects === undefined) return;
    const { kind, phase, at, step = 0, key } = fault;
    this.#latest = Math.max(this.#latest, at + this.#offset);
    if (kind === 'step-clock' && phase === 'end') this.#offset += step;
    if (!effects.breaksLimit) return;
    this.#active += phase === 'begin' ? 1 : -1;
    this.#until = at + IN_FLIGHT;
    const isCertain = phase === 'end' && endsAllTickets(fault, this.#life());
    // A server without data makes tokens from its clock, which may be behind its earlier self.
    const forgets = kind !== 'step-clock' && !(kind === 'delete-key' && key !== 'info');
    const isBehind = at + this.#offset < this.#latest;
    for (const listener of this.#listeners) {
      listener.onLoss(at, isCertain);
      if (forgets && isBehind) listener.onTokensBegin();
    }
  }
}
