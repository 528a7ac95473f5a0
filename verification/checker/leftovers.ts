import { clientOf, type HistoryEvent, type Report } from '../history/events.js';
import type { Beliefs } from './beliefs.js';
import type { Calls } from './calls.js';
import type { LiveTicket, ModelledSemaphore } from './modelled-semaphore.js';
import type { ServerModel } from './server-model.js';
import type { Troubles } from './troubles.js';

interface Models {
  readonly troubles: Troubles;
  readonly server: ServerModel;
  readonly beliefs: Beliefs;
  readonly calls: Calls;
}

/** A ticket without a holder, or a request without a caller. */
interface Leftover {
  readonly key: string;
  readonly id: string;
  readonly semaphore: string;
  readonly what: string;
}

/** Milliseconds for which a leftover may stay while nothing is wrong. */
const PATIENCE = 2600;

/** Milliseconds for which a grant keeps its permit when its process never hears of it. */
const CLAIM = 5000;

/** Milliseconds between two searches. */
const PERIOD = 200;

/** A rejected acquire leaves neither a ticket without a holder nor a request without a caller. */
export class Leftovers {
  readonly #models: Models;
  readonly #report: Report;
  /** Processes, by the name of the client with which their ids begin. */
  readonly #owners = new Map<string, string>();
  /** Since when each leftover is there, in true time and by the server's clock. */
  readonly #unwanted = new Map<string, { readonly at: number; readonly time: number }>();
  readonly #excused = new Set<string>();
  readonly #unheard = new Set<string>();
  readonly #judged = new Set<string>();
  #next = 0;

  constructor(models: Models, report: Report) {
    this.#models = models;
    this.#report = report;
  }

  read(event: HistoryEvent): void {
    if (event.type !== 'served') return;
    const { requests = [], grants, client, at, unheard, adopted, time, notAfter } = event;
    const taken = requests.filter(({ verdict }) => verdict === 'granted' || verdict === 'queued');
    const own = adopted === undefined ? taken : [adopted];
    for (const { id } of own) this.#owners.set(clientOf(id), client);
    // Only a clock that was set back lets it act in time: its caller may have given up.
    const late = time + this.#models.server.backwardAt(at) > (notAfter ?? Infinity);
    if (late) for (const { id } of own) this.#excused.add(id);
    for (const { id } of [...own, ...grants]) {
      const owner = this.#owners.get(clientOf(id)) ?? '';
      // No process can give back a ticket of a command that ran twice and whose answer was lost. An
      // adopted ticket whose adopter does not know of it is left to its ttl: another may adopt it.
      if (unheard === true || this.#models.troubles.repeatsUntil(owner) >= at)
        this.#excused.add(id);
    }
    for (const { id, heard } of grants) if (!heard) this.#unheard.add(id);
  }

  passTo(now: number): void {
    if (now < this.#next) return;
    this.#next = now + PERIOD;
    const seen = new Set<string>();
    for (const semaphore of this.#models.server.semaphores.values())
      this.#search(semaphore, now, seen);
    for (const key of this.#unwanted.keys()) if (!seen.has(key)) this.#unwanted.delete(key);
  }

  #search(semaphore: ModelledSemaphore, now: number, seen: Set<string>): void {
    if (!semaphore.certain) return;
    this.#judgeSilence(semaphore, now);
    for (const ticket of semaphore.tickets.values()) {
      const expired = ticket.expiresAt <= this.#models.server.timeAt(now);
      if (expired || ticket.restored === true || this.#isWanted(ticket, now)) continue;
      const what = `${ticket.id} is a ticket without a holder`;
      const key = `${ticket.id} ${ticket.token}`;
      this.#count({ key, id: ticket.id, semaphore: semaphore.name, what }, now, seen);
    }
    for (const waiter of semaphore.waiting()) {
      const { id, restored } = waiter;
      if (restored === true) continue;
      const owner = this.#owners.get(clientOf(id)) ?? '';
      if (this.#models.calls.isAsking(owner, semaphore.name)) continue;
      // Its withdrawal, which was refused for so long, was given up before its lease was over.
      const refused = this.#models.troubles.refusedFor(owner) >= CLAIM;
      if (refused && semaphore.isProlonged(waiter)) continue;
      const what = `${id} is a request without a caller`;
      this.#count({ key: `${id} waits`, id, semaphore: semaphore.name, what }, now, seen);
    }
  }

  /** A process asks again before its requests count for nothing. */
  #judgeSilence(semaphore: ModelledSemaphore, now: number): void {
    const { troubles, calls, server } = this.#models;
    for (const waiter of semaphore.queue) {
      const owner = this.#owners.get(clientOf(waiter.id)) ?? '';
      const silence = server.timeAt(now) - semaphore.aliveUntil(waiter);
      if (silence < 0 || this.#judged.has(waiter.id)) continue;
      // Once: a request that the server will drop seems to wait again when its process asks for
      // another.
      this.#judged.add(waiter.id);
      // A step of the server's clock made it so old.
      if (silence > 2 * PERIOD) continue;
      if (waiter.restored === true || troubles.isDead(owner)) continue;
      // A command that came twice has queued it: its process does not know of it.
      if (this.#excused.has(waiter.id)) continue;
      if (!calls.isAsking(owner, semaphore.name)) continue;
      if (troubles.struckUntil(owner, semaphore.name) > now - CLAIM - 1000) continue;
      this.#report('silent', now, `${waiter.id} waits, and its process was silent for too long`);
    }
  }

  #isWanted({ id, token, semaphore }: LiveTicket, now: number): boolean {
    const hold = this.#models.beliefs.find(id, token);
    if (hold !== undefined && this.#models.beliefs.isBelieved(hold, now)) return true;
    // An expired lease leaves its ticket to expire, which takes longer where a clock was stepped.
    if (hold?.lost === 'expired') return true;
    return this.#models.calls.isAsking(this.#owners.get(clientOf(id)) ?? '', semaphore);
  }

  #count({ key, id, semaphore, what }: Leftover, now: number, seen: Set<string>): void {
    seen.add(key);
    const { troubles, server } = this.#models;
    const time = server.timeAt(now);
    const since = this.#unwanted.get(key) ?? { at: now, time };
    this.#unwanted.set(key, since);
    const owner = this.#owners.get(clientOf(id)) ?? '';
    if (troubles.isDead(owner) || this.#excused.has(id)) return;
    const patience = this.#unheard.has(id) ? CLAIM + PATIENCE : PATIENCE;
    const calm = now - Math.max(since.at, troubles.struckUntil(owner, semaphore));
    // A clock that was set back prolongs the life of a ticket that is left to expire.
    if (Math.min(calm, time - since.time) <= patience) return;
    this.#unwanted.set(key, { at: Infinity, time });
    this.#report('phantom', now, `${what}, for ${Math.round(now - since.at)} ms`);
  }
}
