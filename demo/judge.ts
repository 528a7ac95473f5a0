/** One request in flight, as its worker describes it. */
export interface Visit {
  readonly worker: number;
  readonly slot: number;
  readonly fencingToken: number;
}

/** Counts requests in flight, and trusts no worker: its counts are the proof. */
export class Judge {
  readonly allowed: number;
  readonly #inFlight = new Set<Visit>();
  readonly #lastToken = new Map<number, number>();
  readonly #served = new Map<number, number>();
  readonly #doubleSlots: string[] = [];
  readonly #oldTokens: string[] = [];
  #peak = 0;
  #cutOff = 0;

  constructor(allowed: number) {
    this.allowed = allowed;
  }

  get inFlight(): readonly Visit[] {
    return [...this.#inFlight];
  }

  get peak(): number {
    return this.#peak;
  }

  get served(): number {
    return [...this.#served.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Requests whose connection closed before their answer. */
  get cutOff(): number {
    return this.#cutOff;
  }

  get workersServed(): number {
    return this.#served.size;
  }

  get slotsSeen(): readonly number[] {
    return [...this.#lastToken.keys()].toSorted((a, b) => a - b);
  }

  enter(visit: Visit): void {
    const { worker, slot, fencingToken } = visit;
    const twin = this.inFlight.find((other) => other.slot === slot);
    if (twin !== undefined) {
      this.#doubleSlots.push(`workers ${twin.worker} and ${worker} had slot ${slot} at once`);
    }
    const last = this.#lastToken.get(slot) ?? 0;
    if (fencingToken <= last) {
      this.#oldTokens.push(`slot ${slot}: fencing token ${fencingToken} came after ${last}`);
    }
    this.#lastToken.set(slot, Math.max(last, fencingToken));
    this.#inFlight.add(visit);
    this.#peak = Math.max(this.#peak, this.#inFlight.size);
  }

  /** The second call for a visit changes nothing. */
  leave(visit: Visit, end: 'answered' | 'cut off'): void {
    if (!this.#inFlight.delete(visit)) return;
    if (end === 'cut off') this.#cutOff += 1;
    else this.#served.set(visit.worker, (this.#served.get(visit.worker) ?? 0) + 1);
  }

  /** The violations that it saw. Empty: all is well. */
  violations(): string[] {
    const { peak, allowed } = this;
    const found = [...firstOf(this.#doubleSlots), ...firstOf(this.#oldTokens)];
    if (peak > allowed) found.unshift(`peak in flight: ${peak}, but only ${allowed} are allowed`);
    if (peak < allowed) found.unshift(`peak in flight: ${peak}, so ${allowed} were never used`);
    return found;
  }
}

function firstOf(problems: readonly string[]): string[] {
  if (problems.length <= 3) return [...problems];
  return [...problems.slice(0, 3), `(and ${problems.length - 3} more like it)`];
}
