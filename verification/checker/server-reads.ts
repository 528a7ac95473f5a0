import {
  clientOf,
  type FaultEvent,
  type HistoryEvent,
  type Report,
  type SeenEvent,
} from '../history/events.js';
import { endsAllTickets } from '../history/fault-effects.js';
import type { Beliefs, Hold } from './beliefs.js';
import type { Calls, OpenCall } from './calls.js';
import type { Certainty } from './certainty.js';
import type { Tokens } from './tokens.js';
import type { Troubles } from './troubles.js';

interface Models {
  readonly troubles: Troubles;
  readonly beliefs: Beliefs;
  readonly calls: Calls;
  readonly tokens: Tokens;
}

/** Milliseconds for which a reply that was sent before a fault may still be on its way. */
const IN_FLIGHT = 100;

/** One grant as the reads of the server show it. */
interface Sighting {
  readonly first: number;
  /** The calls that were under way then: a process that has not heard of its grant asks again. */
  readonly asking: readonly OpenCall[];
  readonly isStruck: boolean;
  isReported: boolean;
}

/** A clock that is set back, by `longer`; or a failover, which may bring released tickets back. */
interface Revival {
  readonly from: number;
  to: number;
  readonly longer: number;
}

/**
 * Reads of a server show no permit above the limit, and no ticket that outlives its holder and its
 * caller; and each permit is in use again when the faults are over.
 */
export class ServerReads {
  readonly #models: Models;
  readonly #report: Report;
  readonly #certainty: Certainty;
  readonly #sightings = new Map<string, Sighting>();
  readonly #owners = new Map<string, string>();
  readonly #revivals = new Map<number, Revival>();
  #limit = 0;
  #recovery = Infinity;
  /** The longest that a ticket stays on the server without an extension, in milliseconds. */
  #life = 0;
  /** By when the slots that are left must be granted again. */
  #due = Infinity;
  #idle = new Set<number>();
  /** How many losses of data happen now, and until when a grant may be older than the last loss. */
  #losses = 0;
  #unsureUntil = -Infinity;
  /** The server's clock less true time, and the latest that it has shown. */
  #offset = 0;
  #latest = -Infinity;

  constructor(models: Models, certainty: Certainty, report: Report) {
    this.#models = models;
    this.#report = report;
    this.#certainty = certainty;
  }

  read(event: HistoryEvent): void {
    if (event.type === 'run') {
      const { semaphores, claim = 0, recovery = Infinity } = event;
      const { limit, ttl } = semaphores[0] ?? { limit: 0, ttl: 0 };
      [this.#limit, this.#life, this.#recovery] = [limit, Math.max(ttl, claim), recovery];
    } else if (event.type === 'quiet' && this.#recovery < Infinity) {
      this.#due = event.at + this.#recovery;
      this.#idle = new Set(Array.from({ length: this.#limit }, (_, slot) => slot));
    } else if (event.type === 'ok') {
      for (const { id, slots } of event.tickets ?? []) {
        this.#owners.set(clientOf(id), event.process);
        if (event.at <= this.#due) for (const slot of slots) this.#idle.delete(slot);
      }
    } else if (event.type === 'fault') {
      const { fault, kind, at, phase, step = 0 } = event;
      const known = this.#revivals.get(fault);
      if (known !== undefined && phase === 'end') known.to = at;
      else if (kind === 'fail-over' || step < 0) {
        this.#revivals.set(fault, { from: at, to: Infinity, longer: -step });
      }
    } else if (event.type === 'seen') this.#look(event);
  }

  /** Whether a ticket that its holder gets now may be of before or after a loss. */
  isUnsure(at: number): boolean {
    return this.#losses > 0 || at <= this.#unsureUntil;
  }

  /** A fault takes data from servers whose answers the history does not have. */
  readFault(fault: FaultEvent): void {
    const effects = this.#certainty.effectsOf?.(fault);
    if (effects === undefined) return;
    const { kind, phase, at, step = 0, key } = fault;
    this.#latest = Math.max(this.#latest, at + this.#offset);
    if (kind === 'step-clock' && phase === 'end') this.#offset += step;
    if (!effects.breaksLimit) return;
    this.#losses += phase === 'begin' ? 1 : -1;
    this.#unsureUntil = at + IN_FLIGHT;
    const { beliefs, tokens } = this.#models;
    beliefs.onLoss(at, phase === 'end' && endsAllTickets(fault, this.#life));
    // A server without data makes tokens from its clock, which may be behind its earlier self.
    const forgets = kind !== 'step-clock' && !(kind === 'delete-key' && key !== 'info');
    if (!forgets || at + this.#offset >= this.#latest) return;
    beliefs.onTokensBegin();
    tokens.onTokensBegin();
  }

  /** The history is over. */
  end(): void {
    if (this.#idle.size === 0) return;
    const slots = [...this.#idle].join(', ');
    const message = `slots ${slots} were not granted within ${this.#recovery} ms after the faults`;
    this.#report('liveness', this.#due, message);
  }

  #look({ at, asked, holders }: SeenEvent): void {
    const slots = holders.flatMap((holder) => holder.slots);
    if (slots.length > this.#limit || new Set(slots).size < slots.length) {
      const message = `the server shows slots ${slots.join(', ')} held, of ${this.#limit}`;
      this.#report('server', at, message);
    }
    const { calls, troubles, beliefs } = this.#models;
    for (const { id, token } of holders) {
      const key = `${id} ${token}`;
      const owner = this.#owners.get(clientOf(id)) ?? '';
      const isStruck = troubles.struckUntil(owner) >= at - this.#life;
      const seen = { first: at, asking: calls.open, isStruck, isReported: false };
      const sighting = this.#sightings.get(key) ?? seen;
      this.#sightings.set(key, sighting);
      const problem = this.#problemOf(id, beliefs.last(id), token, sighting, asked);
      if (problem === undefined || sighting.isReported) continue;
      sighting.isReported = true;
      this.#report('phantom', asked, `${id} is still a ticket ${problem}`);
    }
  }

  #problemOf(
    id: string,
    hold: Hold | undefined,
    token: number,
    { first, asking, isStruck }: Sighting,
    asked: number,
  ): string | undefined {
    const { released = Infinity } = hold ?? {};
    const failedOver = this.#revived(released, asked).some(({ longer }) => longer === 0);
    if (asked > released && !failedOver) {
      const since = `${Math.round(asked - released)} ms after its release was confirmed`;
      if (token === hold?.token) return since;
      // A try that was given up may run late, or twice; its reply, once heard, gives the new grant
      // back.
      if (!isStruck) return `again, ${since}`;
    }
    const owner = this.#owners.get(clientOf(id)) ?? '';
    const { over = Infinity, until = 0, process = '' } = hold ?? {};
    // Its holder stopped believing in it by release, loss or its own death.
    const end = Math.min(over, until, this.#models.troubles.diedAt(process));
    const ends = asking.flatMap((call) => {
      if (call.event.process !== owner || !['acquire', 'try'].includes(call.event.operation))
        return [];
      return [Math.min(call.ended ?? asked, this.#models.troubles.diedAt(owner))];
    });
    const idleSince = token === hold?.token ? end : Math.max(end, first, ...ends);
    const from = hold?.granted ?? first - this.#life;
    const longer = this.#revived(from, asked).reduce((sum, each) => sum + each.longer, 0);
    if (asked <= idleSince + this.#life + this.#certainty.late + longer) return undefined;
    return `${Math.round(asked - idleSince)} ms after its last holder`;
  }

  #revived(from: number, to: number): Revival[] {
    return [...this.#revivals.values()].filter((each) => each.from <= to && each.to >= from);
  }
}
