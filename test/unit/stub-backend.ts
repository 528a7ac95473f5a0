import type * as port from '../../src/backends/backend.js';
import { CLAIM_TIME_MS } from '../../src/backends/protocol.js';
import { ManualClock } from '../../src/time/manual-clock.js';

/** A call, and its monotonic time. */
interface Noted<Call> {
  readonly at: number;
  readonly call: Call;
}

type Answer<Call, Reply> = (call: Call, index: number) => Reply | Promise<Reply>;

/** A test decides each answer; by default, no permit is ever free, and tickets live. */
export class StubBackend implements port.Backend {
  readonly clock: ManualClock = new ManualClock(1_700_000_000_000);
  readonly acquires: Noted<port.AcquireCall>[] = [];
  readonly extends: Noted<port.ExtendCall>[] = [];
  readonly releases: Noted<port.ReleaseCall>[] = [];
  /** Calls of the port; a call may name several semaphores. */
  readonly portCalls = { acquire: 0, extend: 0, release: 0 };
  readonly listeners: port.GrantListener[] = [];
  closedListeners = 0;
  isRetryable?: (error: unknown) => boolean = () => true;
  listen?: NonNullable<port.Backend['listen']>;
  #arrivals = 0;
  #tokens = 0;

  constructor(options: { pushes: boolean } = { pushes: false }) {
    if (options.pushes) this.listen = (_client, _prefix, listener) => this.#listen(listener);
  }

  onAcquire: Answer<port.AcquireCall, port.AcquireReply> = (call) => this.allQueued(call);
  onExtend: Answer<port.ExtendCall, port.ExtendReply> = (call) => this.extended(call);
  onRelease: Answer<port.ReleaseCall, port.ReleaseReply> = (call) => this.released(call);
  onInspect: (call: port.InspectCall) => Promise<port.InspectReply> = () => never();

  /** A reply that says nothing. The clock of the server is not the clock of the process. */
  get reply(): port.Reply {
    return { serverTime: this.clock.monotonic() + 5_000_000, grants: [] };
  }

  acquire(calls: readonly port.AcquireCall[]): Promise<readonly port.AcquireReply[]> {
    this.portCalls.acquire += 1;
    // Copies, because requests get their place later.
    const copyOf = ({ id, permits, wait, arrival }: port.TicketRequest) => {
      return { id, permits, wait, arrival };
    };
    const copies = calls.map((call) => ({ ...call, requests: call.requests.map(copyOf) }));
    return this.#answers(copies, this.acquires, (call, index) => this.onAcquire(call, index));
  }

  extend(calls: readonly port.ExtendCall[]): Promise<readonly port.ExtendReply[]> {
    this.portCalls.extend += 1;
    return this.#answers(calls, this.extends, (call, index) => this.onExtend(call, index));
  }

  release(calls: readonly port.ReleaseCall[]): Promise<readonly port.ReleaseReply[]> {
    this.portCalls.release += 1;
    return this.#answers(calls, this.releases, (call, index) => this.onRelease(call, index));
  }

  #answers<C, R>(calls: readonly C[], noted: Noted<C>[], answer: Answer<C, R>): Promise<R[]> {
    const at = this.clock.monotonic();
    return Promise.all(calls.map(async (call) => answer(call, noted.push({ at, call }) - 1)));
  }

  inspect(call: port.InspectCall): Promise<port.InspectReply> {
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

  allQueued(call: port.AcquireCall): port.AcquireReply {
    return this.verdicts(call, () => ({ kind: 'queued', arrival: (this.#arrivals += 1) }));
  }

  allGranted(call: port.AcquireCall): port.AcquireReply {
    return this.verdicts(call, () => this.granted());
  }

  verdicts(call: port.AcquireCall, verdictOf: () => port.AcquireVerdict): port.AcquireReply {
    return { ...this.reply, askAgainAt: undefined, verdicts: call.requests.map(verdictOf) };
  }

  granted(): port.AcquireVerdict {
    return { kind: 'granted', fencingToken: (this.#tokens += 1), slots: [0] };
  }

  extended({ ids }: port.ExtendCall, all = true): port.ExtendReply {
    return { ...this.reply, extended: ids.map(() => all) };
  }

  released({ ids }: port.ReleaseCall, all = true): port.ReleaseReply {
    return { ...this.reply, released: ids.map(() => all) };
  }

  /** Pushes a grant of this id that expires in `life` milliseconds. */
  push(id: string, life = CLAIM_TIME_MS, token = (this.#tokens += 1)): Promise<void> {
    const expiresAt = this.reply.serverTime + life;
    const grants = [{ id, fencingToken: token, slots: [0], expiresAt }];
    return this.#tell((listener) => listener.onGrants(grants, this.#nameOf(id)));
  }

  /** Says that a ticket was revoked. */
  sayRevoked(id: string): Promise<void> {
    return this.#tell((listener) =>
      listener.onEnded?.([{ id, reason: 'revoked' }], this.#nameOf(id)),
    );
  }

  setHealth(healthy: boolean): Promise<void> {
    return this.#tell((listener) => listener.onHealth(healthy));
  }

  /** Resolves when everything that the message sets off has happened. */
  #tell(tell: (listener: port.GrantListener) => void): Promise<void> {
    for (const listener of this.listeners) tell(listener);
    return this.clock.advance(0);
  }

  /** The name of the semaphore whose request has this id. */
  #nameOf(id: string): string {
    const asked = this.acquires.find(({ call }) => call.requests.some((one) => one.id === id));
    return asked?.call.key.name ?? '';
  }

  #listen(listener: port.GrantListener): port.Listening {
    this.listeners.push(listener);
    const close = async (): Promise<void> => {
      this.listeners.splice(this.listeners.indexOf(listener), 1);
      this.closedListeners += 1;
    };
    return { close };
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
