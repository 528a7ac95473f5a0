import type { FaultEvent } from '../history/events.js';
import { endsAllTickets } from '../history/fault-effects.js';
import type { Beliefs } from './beliefs.js';
import type { Certainty } from './certainty.js';
import type { ServerReads } from './server-reads.js';
import type { Tokens } from './tokens.js';

/** Milliseconds for which a reply that was sent before a fault may still be on its way. */
const IN_FLIGHT = 100;

interface Models {
  readonly beliefs: Beliefs;
  readonly tokens: Tokens;
  readonly reads: ServerReads;
}

/** What faults took from servers whose answers the history does not have. */
export class DataLosses {
  readonly #models: Models;
  readonly #effectsOf: Certainty['effectsOf'];
  /** How many such faults strike now, and until when a grant may be older than the last fault. */
  #active = 0;
  #until = -Infinity;
  /** The server's clock less true time, and the latest that it has shown. */
  #offset = 0;
  #latest = -Infinity;

  constructor(models: Models, { effectsOf }: Certainty) {
    this.#models = models;
    this.#effectsOf = effectsOf;
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
    const { beliefs, tokens, reads } = this.#models;
    beliefs.onLoss(at, phase === 'end' && endsAllTickets(fault, reads.life));
    // A server without data makes tokens from its clock, which may be behind its earlier self.
    const forgets = kind !== 'step-clock' && !(kind === 'delete-key' && key !== 'info');
    if (!forgets || at + this.#offset >= this.#latest) return;
    beliefs.onTokensBegin();
    tokens.onTokensBegin();
  }
}
