import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  Backend,
  EndedTicket,
  ExtendCall,
  ExtendReply,
  GrantListener,
  InspectCall,
  InspectReply,
  Listening,
  PushedGrant,
  ReleaseCall,
  ReleaseReply,
} from '../../src/backends/backend.js';
import { CLAIM_TIME_MS } from '../../src/backends/protocol.js';
import { ManualClock } from '../../src/time/manual-clock.js';

export interface Noted<Call> {
  /** Monotonic time of the call. */
  readonly at: number;
  readonly call: Call;
}

type Answer<Call, Reply> = (call: Call, index: number) => Reply | Promise<Reply>;

/** From the local clock to the clock of the stub's server. */
const OFFSET = 5_000_000;

/** A test decides each answer; by default, no permit is ever free, and tickets live. */
export class StubBackend implements Backend {
  readonly clock: ManualClock = new ManualClock(1_700_000_000_000);
  readonly acquires: Noted<AcquireCall>[] = [];
  readonly extends: Noted<ExtendCall>[] = [];
  readonly releases: Noted<ReleaseCall>[] = [];
  /** Calls of the port; a call may name several semaphores. */
  readonly portCalls = { acquire: 0, extend: 0, release: 0 };
  readonly listeners: GrantListener[] = [];
  closedListeners = 0;
  isRetryable?: (error: unknown) => boolean = () => true;
  listen?: (client: string, prefix: string, listener: GrantListener) => Listening;
  #arrivals = 0;
  #tokens = 0;
  #pushed: PushedGrant | undefined;
  readonly #names = new Map<string, string>();

  constructor(options: { pushes: boolean } = { pushes: false }) {
    if (options.pushes) this.listen = (_client, _prefix, listener) => this.#listen(listener);
  }

  onAcquire: Answer<AcquireCall, AcquireReply> = (call) => this.allQueued(call);
  onExtend: Answer<ExtendCall, ExtendReply> = (call) => this.extended(call);
  onRelease: Answer<ReleaseCall, ReleaseReply> = (call) => this.released(call);
  onInspect: (call: InspectCall) => Promise<InspectReply> = () => never();

  get serverTime(): number {
    return this.clock.monotonic() + OFFSET;
  }

  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    this.portCalls.acquire += 1;
    const copies = calls.map((call) => {
      // Copies, because requests get their place later.
      const requests = call.requests.map(({ id, permits, wait, arrival }) => {
        this.#names.set(id, call.key.name);
        return { id, permits, wait, arrival };
      });
      return { ...call, requests };
    });
    return this.#answers(copies, this.acquires, (call, index) => this.onAcquire(call, index));
  }

  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    this.portCalls.extend += 1;
    return this.#answers(calls, this.extends, (call, index) => this.onExtend(call, index));
  }

  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    this.portCalls.release += 1;
    return this.#answers(calls, this.releases, (call, index) => this.onRelease(call, index));
  }

  #answers<C, R>(calls: readonly C[], noted: Noted<C>[], answer: Answer<C, R>): Promise<R[]> {
    const at = this.clock.monotonic();
    return Promise.all(calls.map(async (call) => answer(call, noted.push({ at, call }) - 1)));
  }

  inspect(call: InspectCall): Promise<InspectReply> {
    return this.onInspect(call);
  }

  /** Times of all calls of acquire so far. */
  get tries(): number[] {
    return this.acquires.map(({ at }) => at);
  }

  /** Ids of all requests so far, in the order in which they first came. */
  get ids(): string[] {
    return [...new Set(this.acquires.flatMap(({ call }) => call.requests.map(({ id }) => id)))];
  }

  /** Ids that were released or withdrawn so far. */
  get givenBack(): string[] {
    return this.releases.flatMap(({ call }) => [...call.ids]);
  }

  allQueued(call: AcquireCall, askAgainAt?: number): AcquireReply {
    return this.verdicts(call, () => this.queued(), askAgainAt);
  }

  allGranted(call: AcquireCall): AcquireReply {
    return this.verdicts(call, () => this.granted());
  }

  verdicts(
    call: AcquireCall,
    verdictOf: (request: AcquireCall['requests'][number]) => AcquireVerdict,
    askAgainAt?: number,
  ): AcquireReply {
    const verdicts = call.requests.map(verdictOf);
    return { serverTime: this.serverTime, grants: [], askAgainAt, verdicts };
  }

  queued(): AcquireVerdict {
    this.#arrivals += 1;
    return { kind: 'queued', arrival: this.#arrivals };
  }

  granted(): AcquireVerdict {
    this.#tokens += 1;
    return { kind: 'granted', fencingToken: this.#tokens, slots: [0] };
  }

  extended(call: ExtendCall, all = true): ExtendReply {
    return { serverTime: this.serverTime, grants: [], extended: call.ids.map(() => all) };
  }

  released(call: ReleaseCall, all = true): ReleaseReply {
    return { serverTime: this.serverTime, grants: [], released: call.ids.map(() => all) };
  }

  /** Pushes a grant of this id that expires in `life` milliseconds. */
  push(id: string, life = CLAIM_TIME_MS): void {
    this.#tokens += 1;
    const expiresAt = this.serverTime + life;
    this.#pushed = { id, fencingToken: this.#tokens, slots: [0], expiresAt };
    this.pushAgain();
  }

  /** Says that a ticket was taken away. */
  endTicket(id: string, reason: EndedTicket['reason']): void {
    for (const one of this.listeners) one.onEnded?.([{ id, reason }], this.#nameOf(id));
  }

  /** The last push, once more. */
  pushAgain(): void {
    const grants = this.#pushed === undefined ? [] : [this.#pushed];
    for (const listener of this.listeners) listener.onGrants(grants, this.#nameOf(grants[0]?.id));
  }

  /** The name of the semaphore whose request has this id. */
  #nameOf(id: string | undefined): string {
    return this.#names.get(id ?? '') ?? '';
  }

  setHealth(healthy: boolean): void {
    for (const listener of this.listeners) listener.onHealth(healthy);
  }

  #listen(listener: GrantListener): Listening {
    this.listeners.push(listener);
    return {
      close: () => {
        this.listeners.splice(this.listeners.indexOf(listener), 1);
        this.closedListeners += 1;
        return Promise.resolve();
      },
    };
  }
}

/** The reply of a server that hangs. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/** The outcome of a promise, and its time by the clock. */
export interface Watched<T> {
  readonly done: boolean;
  readonly at: number | undefined;
  readonly value: T | undefined;
  readonly error: unknown;
}

export function watch<T>(clock: ManualClock, promise: Promise<T>): Watched<T> {
  const watched = { done: false, at: undefined, value: undefined, error: undefined };
  const settle = (outcome: Partial<Watched<T>>): void => {
    Object.assign(watched, outcome, { done: true, at: clock.monotonic() });
  };
  promise.then(
    (value) => settle({ value }),
    (error: unknown) => settle({ error }),
  );
  return watched;
}
