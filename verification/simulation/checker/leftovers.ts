import { clientOf, type HistoryEvent } from '../../history/events.js';
import type { Beliefs } from './beliefs.js';
import type { Calls } from './calls.js';
import type { LiveTicket, ModelledSemaphore, ServerModel } from './server-model.js';
import type { Troubles } from './troubles.js';
import type { Report } from './report.js';

interface Parts {
  readonly troubles: Troubles;
  readonly server: ServerModel;
  readonly beliefs: Beliefs;
  readonly calls: Calls;
}

/** A ticket or a request that nobody wants. */
interface Leftover {
  readonly key: string;
  readonly id: string;
  readonly semaphore: string;
  readonly what: string;
}

/** How long what nobody wants may stay while nothing is wrong, in milliseconds. */
const PATIENCE = 2600;

/** How long a grant that its process never hears of keeps its permit at most. */
const CLAIM = 5000;

/** Between two looks. */
const PERIOD = 200;

/**
 * A rejected acquire leaves nothing behind: neither a ticket that nobody holds, nor a request that
 * nobody waits for.
 */
export class Leftovers {
  readonly #parts: Parts;
  readonly #report: Report;
  /** Whose ids begin with what. */
  readonly #owners = new Map<string, string>();
  /** Since when nobody wants it, in true time and by the server's clock. */
  readonly #unwanted = new Map<string, { readonly at: number; readonly time: number }>();
  readonly #excused = new Set<string>();
  readonly #unheard = new Set<string>();
  readonly #judged = new Set<string>();
  #next = 0;

  constructor(parts: Parts, report: Report) {
    this.#parts = parts;
    this.#report = report;
  }

  read(event: HistoryEvent): void {
    if (event.type !== 'served') return;
    const { requests = [], grants, client, at, unheard, adopted, time, notAfter } = event;
    const taken = requests.filter(({ verdict }) => verdict === 'granted' || verdict === 'queued');
    const own = adopted === undefined ? taken : [adopted];
    for (const { id } of own) this.#owners.set(clientOf(id), client);
    // It acts in time only since the clock was set back: its caller may have given up.
    const late = time + this.#parts.server.backwardAt(at) > (notAfter ?? Infinity);
    if (late) for (const { id } of own) this.#excused.add(id);
    for (const { id } of [...own, ...grants]) {
      const owner = this.#owners.get(clientOf(id)) ?? '';
      // A command that ran twice, and whose answer nobody hears, is beyond anybody's reach. So is a
      // ticket that was adopted without its adopter hearing of it: that is left to its ttl, because
      // the next one may adopt it.
      if (unheard === true || this.#parts.troubles.repeatsUntil(owner) >= at) this.#excused.add(id);
    }
    for (const { id, heard } of grants) if (!heard) this.#unheard.add(id);
  }

  passTo(now: number): void {
    if (now < this.#next) return;
    this.#next = now + PERIOD;
    const seen = new Set<string>();
    for (const semaphore of this.#parts.server.semaphores.values())
      this.#look(semaphore, now, seen);
    for (const key of this.#unwanted.keys()) if (!seen.has(key)) this.#unwanted.delete(key);
  }

  #look(semaphore: ModelledSemaphore, now: number, seen: Set<string>): void {
    if (!semaphore.certain) return;
    this.#judgeSilence(semaphore, now);
    for (const ticket of semaphore.tickets.values()) {
      const expired = ticket.expiresAt <= this.#parts.server.timeAt(now);
      if (expired || ticket.restored === true || this.#isWanted(ticket, now)) continue;
      const what = `${ticket.id} is a ticket that nobody holds`;
      const key = `${ticket.id} ${ticket.token}`;
      this.#count({ key, id: ticket.id, semaphore: semaphore.name, what }, now, seen);
    }
    for (const { id, restored } of semaphore.waiting()) {
      if (restored === true) continue;
      const owner = this.#owners.get(clientOf(id)) ?? '';
      if (this.#parts.calls.isAsking(owner, semaphore.name)) continue;
      const what = `${id} is a request that nobody waits for`;
      this.#count({ key: `${id} waits`, id, semaphore: semaphore.name, what }, now, seen);
    }
  }

  /** A waiter is heard of again before its requests count for nothing. */
  #judgeSilence(semaphore: ModelledSemaphore, now: number): void {
    const { troubles, calls, server } = this.#parts;
    for (const waiter of semaphore.queue) {
      const owner = this.#owners.get(clientOf(waiter.id)) ?? '';
      const silence = server.timeAt(now) - semaphore.aliveUntil(waiter);
      if (silence < 0 || this.#judged.has(waiter.id)) continue;
      // Once: what was left to be dropped seems to wait again whenever its process asks for
      // something else.
      this.#judged.add(waiter.id);
      // A step of the server's clock made it so old.
      if (silence > 2 * PERIOD) continue;
      if (waiter.restored === true || troubles.isDead(owner)) continue;
      // Queued by a command that came twice: nobody knows of it.
      if (this.#excused.has(waiter.id)) continue;
      if (!calls.isAsking(owner, semaphore.name)) continue;
      if (troubles.struckUntil(owner, semaphore.name) > now - CLAIM - 1000) continue;
      this.#report('silent', now, `${waiter.id} waits, and its process was silent for too long`);
    }
  }

  #isWanted({ id, token, semaphore }: LiveTicket, now: number): boolean {
    const hold = this.#parts.beliefs.find(id, token);
    if (hold !== undefined && this.#parts.beliefs.isBelieved(hold, now)) return true;
    // One that ran out is left to expire, which takes longer where a clock was stepped.
    if (hold?.lost === 'expired') return true;
    return this.#parts.calls.isAsking(this.#owners.get(clientOf(id)) ?? '', semaphore);
  }

  #count({ key, id, semaphore, what }: Leftover, now: number, seen: Set<string>): void {
    seen.add(key);
    const { troubles, server } = this.#parts;
    const time = server.timeAt(now);
    const since = this.#unwanted.get(key) ?? { at: now, time };
    this.#unwanted.set(key, since);
    const owner = this.#owners.get(clientOf(id)) ?? '';
    if (troubles.isDead(owner) || this.#excused.has(id)) return;
    const patience = this.#unheard.has(id) ? CLAIM + PATIENCE : PATIENCE;
    const calm = now - Math.max(since.at, troubles.struckUntil(owner, semaphore));
    // Where the clock was set back, what is left to expire lives so much longer.
    if (Math.min(calm, time - since.time) <= patience) return;
    this.#unwanted.set(key, { at: Infinity, time });
    this.#report('phantom', now, `${what}, for ${Math.round(now - since.at)} ms`);
  }
}
