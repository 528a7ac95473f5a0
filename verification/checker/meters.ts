import type { RateSettings, SemaphoreSettings } from '../history/events.js';

type Units = Readonly<Record<string, number>>;

interface Priced {
  readonly permits: number;
  readonly cost?: Units | undefined;
}

/** A price that came in, and the speed at which the bucket drains from then on. */
interface Entry {
  readonly at: number;
  /** Units a millisecond. */
  readonly speed: number;
  /** As it is known by now. */
  price: number;
}

/** The price of a ticket. */
interface Charge {
  readonly entry: Entry;
  readonly price: number;
  /** How much must have left the bucket when all of the price has; 0: unknown. */
  mark: number;
}

/** The server's clock has whole microseconds, in milliseconds. */
const EXACT = 0.002;

/**
 * A bucket that a rate or a budget drains. Its level is bounded from both sides:
 *
 * - The least that any server must count: the units that a ticket turned out to have spent, from
 *   its grant on, and a debt from its release on. If the bucket has room by that at each grant, no
 *   window has more than its amount and burst.
 * - The most that any server may count: of the unspent units only those come back that are
 *   certainly in the bucket still. A request that fits by that must not be held back.
 */
class Bucket {
  readonly #charges = new Map<string, Charge>();
  #rate: RateSettings | undefined;
  #entries: Entry[] = [];
  #high = 0;
  #highAt = 0;
  #gone = 0;
  #isSure = true;

  constructor(rate: RateSettings | undefined) {
    this.#rate = rate;
  }

  /** The bucket keeps its level; without a rate it is emptied. */
  change(rate: RateSettings | undefined, now: number): void {
    this.#drain(now);
    for (const charge of this.#charges.values()) charge.mark = 0;
    this.#rate = rate;
    if (rate !== undefined) return void this.#entries.push(this.#entry(0, now));
    this.#entries = [];
    this.#high = 0;
  }

  /** The most that a server may count is unknown from now on. */
  doubt(): void {
    this.#isSure = false;
  }

  /** @returns whether there was room */
  charge(id: string, price: number, now: number): boolean {
    this.#charges.delete(id);
    if (this.#rate === undefined || price === 0) return true;
    const hasRoom = this.#fits(price, this.#least(now));
    const entry = this.#add(price, now);
    this.#charges.set(id, { entry, price, mark: this.#gone + this.#high });
    return hasRoom;
  }

  settle(id: string, spent: number | undefined, now: number): void {
    const charge = this.#charges.get(id);
    this.#charges.delete(id);
    if (this.#rate === undefined || spent === undefined) return;
    const { price, entry, mark } = charge ?? { price: 0, mark: 0 };
    if (spent > price) this.#add(spent - price, now);
    if (entry === undefined || spent >= price) return;
    entry.price = spent;
    this.#drain(now);
    const back = Math.max(0, Math.min(price - spent, mark - this.#gone, this.#high));
    this.#high -= back;
    this.#gone += back;
  }

  rename(before: string, id: string): void {
    const charge = this.#charges.get(before);
    this.#charges.delete(before);
    if (charge !== undefined) this.#charges.set(id, charge);
  }

  /** Whether there is certainly room. */
  mayPay(price: number, now: number): boolean {
    if (this.#rate === undefined || price === 0) return true;
    this.#drain(now);
    return this.#isSure && this.#fits(price, this.#high + 2 * EXACT * this.#speed);
  }

  get #speed(): number {
    return this.#rate === undefined ? 0 : this.#rate.permits / this.#rate.per;
  }

  /** A price above the burst has room in the empty bucket. */
  #fits(price: number, level: number): boolean {
    const burst = Math.max(this.#rate?.burst ?? Infinity, price);
    return level + price <= burst + EXACT * this.#speed + 1e-6;
  }

  #entry(price: number, now: number): Entry {
    return { at: now, speed: this.#speed, price };
  }

  #add(price: number, now: number): Entry {
    const entry = this.#entry(price, now);
    this.#entries.push(entry);
    this.#drain(now);
    // A server counts in whole microseconds, rounded up.
    this.#high += price + 0.001 * this.#speed;
    return entry;
  }

  #drain(now: number): void {
    const drained = Math.min(this.#high, (now - this.#highAt) * this.#speed);
    this.#high -= drained;
    this.#gone += drained;
    this.#highAt = now;
  }

  /** Entries from before a moment with an empty bucket count no longer. */
  #least(now: number): number {
    let [level, first] = [0, 0];
    this.#entries.forEach(({ price, speed, at }, i) => {
      const next = this.#entries[i + 1]?.at ?? now;
      level = level + price - (next - at) * speed;
      if (level > 0) return;
      [level, first] = [0, i + 1];
    });
    this.#entries.splice(0, first);
    return level;
  }
}

/** The name of the rate among the budgets. */
const RATE = '';

/** The rate and the budgets of one semaphore, by the server's clock. */
export class Meters {
  readonly #buckets = new Map<string, Bucket>();
  #time = -Infinity;
  /** Time that has passed on the server's clock, whenever it was set back. */
  #passed = 0;

  constructor({ rate, budgets = {} }: SemaphoreSettings) {
    if (rate !== undefined) this.#buckets.set(RATE, new Bucket(rate));
    for (const [name, budget] of Object.entries(budgets)) {
      this.#buckets.set(name, new Bucket(budget));
    }
  }

  passTo(time: number): void {
    if (time < this.#time) for (const bucket of this.#buckets.values()) bucket.doubt();
    else if (this.#time > -Infinity) this.#passed += time - this.#time;
    this.#time = time;
  }

  /** Null: there is none from now on. */
  change(rate: RateSettings | null, name: string = RATE): void {
    const bucket = this.#buckets.get(name) ?? new Bucket(undefined);
    bucket.change(rate ?? undefined, this.#passed);
    this.#buckets.set(name, bucket);
  }

  /** @returns the names of the buckets without room */
  charge(id: string, asked: Priced): string[] {
    const over = [...this.#buckets].filter(
      ([name, bucket]) => !bucket.charge(id, priceOf(asked, name), this.#passed),
    );
    return over.map(([name]) => name || 'rate');
  }

  settle(id: string, spent: Units): void {
    for (const [name, bucket] of this.#buckets) {
      if (name !== RATE) bucket.settle(id, spent[name], this.#passed);
    }
  }

  rename(before: string, id: string): void {
    for (const bucket of this.#buckets.values()) bucket.rename(before, id);
  }

  /** Whether every bucket certainly has room. */
  mayPay(asked: Priced): boolean {
    return [...this.#buckets].every(([name, bucket]) =>
      bucket.mayPay(priceOf(asked, name), this.#passed),
    );
  }

  get areNone(): boolean {
    return this.#buckets.size === 0;
  }
}

function priceOf({ permits, cost }: Priced, name: string): number {
  return name === RATE ? permits : (cost?.[name] ?? 0);
}
