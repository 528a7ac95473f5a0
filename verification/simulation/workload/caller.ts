import { acquireAll, type AcquireOptions, type Handle } from '../../../src/index.js';
import type { Invocation, RateSettings, Ticket } from '../../history/events.js';
import type { Random } from '../random.js';
import type { Crew } from './crew.js';
import { budgetOf, type CallKind, drawRate, MOST_COST } from './workload.js';

/** One handle, or several together. */
interface Held {
  readonly handles: readonly Handle[];
  release(): Promise<boolean>;
}

/** Makes random calls, one after the other, and records each. */
export class Caller {
  readonly #crew: Crew;
  readonly #random: Random;
  readonly #kinds: readonly CallKind[];
  readonly #acts: Readonly<Record<CallKind, () => Promise<void>>> = {
    acquire: async () => this.#hold(await this.#acquire(this.#pickName())),
    try: async () => this.#hold(await this.#try()),
    all: async () => this.#hold(await this.#acquireAll()),
    keyed: async () => this.#hold(await this.#acquireKeys()),
    adopt: async () => this.#hold(await this.#adopt()),
    revoke: () => this.#revoke(),
    'set-limit': () => this.#setLimit(),
    'set-rules': () => this.#setRules(),
    inspect: () => this.#inspect(),
    reopen: () => this.#reopen(),
    burst: () => this.#burst(),
  };

  constructor(crew: Crew, random: Random) {
    this.#crew = crew;
    this.#random = random;
    const { weights } = crew.options.workload;
    this.#kinds = (Object.entries(weights) as [CallKind, number][]).flatMap(([kind, weight]) =>
      Array.from({ length: Math.round(weight * 10) }, () => kind),
    );
  }

  async run(): Promise<void> {
    const { workload } = this.#crew.options;
    await this.#pause(this.#random.real(0, workload.think));
    while (!this.#crew.stopping) {
      await this.#acts[this.#random.pick(this.#kinds)]();
      await this.#pause(this.#random.exponential(workload.think));
    }
  }

  #pickName(): string {
    return this.#random.pick(this.#crew.options.workload.semaphores).name;
  }

  #pickTimeout(): number {
    if (this.#random.chance(0.1)) return Infinity;
    return Math.ceil(this.#random.exponential(this.#random.chance(0.3) ? 200 : 5000));
  }

  /**
   * Mostly below each limit of the run. 1 in a stream of newcomers: equal costs lower the bound.
   */
  #permits(name: string): number {
    if (this.#crew.options.workload.newcomers) return 1;
    const most = Math.min(this.#crew.settingsOf(name).limit, this.#crew.semaphore(name).limit);
    return this.#random.chance(0.8) ? 1 : this.#random.between(1, Math.min(most, 3));
  }

  async #acquire(name: string): Promise<Held | undefined> {
    const semaphore = this.#crew.semaphore(name);
    const permits = this.#permits(name);
    const timeout = this.#pickTimeout();
    const aborted = this.#abortSometimes();
    const signal = aborted === undefined ? {} : { signal: aborted };
    const ask = { permits, timeout, ...signal, ...this.#order(name), cost: this.#units(name) };
    const what = { operation: 'acquire' as const, semaphores: [name], permits };
    return this.#take({ ...what, ...(timeout < Infinity && { timeout }) }, async () =>
      alone(await semaphore.acquire(ask)),
    );
  }

  /** A random group and priority; in a stream of newcomers mostly a new group, without priority. */
  #order(name: string): AcquireOptions {
    const { workload, process } = this.#crew.options;
    if (this.#crew.settingsOf(name).groups !== true) return {};
    if (workload.newcomers && this.#random.chance(0.8)) {
      return { group: `${process.name} ${this.#crew.nextGroup()}` };
    }
    const group = this.#random.pick(['', 'a', 'b', 'c']);
    const weight = this.#random.pick(workload.newcomers ? [1, 2] : [1, 2, 7]);
    const priority = this.#random.chance(workload.newcomers ? 0.02 : 0.2)
      ? this.#random.between(1, 9)
      : 0;
    const heard = this.#random.chance(0.3) ? { onWaiting: () => undefined } : {};
    return { ...(group !== '' && { group, weight }), priority, ...heard };
  }

  /** The cost of a request, or the units that a ticket has spent; sometimes above the burst. */
  #units(name: string): Readonly<Record<string, number>> | undefined {
    const given = Object.entries(this.#crew.settingsOf(name).budgets ?? {}).flatMap(
      ([budget, { burst }]) => {
        if (this.#random.chance(0.2)) return [];
        const most = this.#random.chance(0.03) ? 2 * burst : MOST_COST;
        return [[budget, this.#random.between(0, most)] as const];
      },
    );
    return given.length === 0 ? undefined : Object.fromEntries(given);
  }

  async #try(): Promise<Held | undefined> {
    const name = this.#pickName();
    const semaphore = this.#crew.semaphore(name);
    const permits = this.#permits(name);
    return this.#take({ operation: 'try', semaphores: [name], permits }, async () => {
      const handle = await semaphore.tryAcquire({ permits });
      return handle === null ? undefined : alone(handle);
    });
  }

  async #acquireAll(): Promise<Held | undefined> {
    const names = this.#random.chance(0.5) ? ['pool', 'mutex'] : ['wide', 'pool', 'mutex'];
    const semaphores = names.map((name) => this.#crew.semaphore(name));
    const timeout = this.#random.between(50, 8000);
    const { clock } = this.#crew.options.process;
    return this.#take({ operation: 'all', semaphores: names, timeout }, () =>
      acquireAll(semaphores, { timeout, clock }),
    );
  }

  async #acquireKeys(): Promise<Held | undefined> {
    const { workload } = this.#crew.options;
    const chosen = this.#random.some(workload.keys, 0.5);
    const keys = chosen.length === 0 ? [this.#random.pick(workload.keys)] : chosen;
    const semaphores = keys.map((key) => `keyed:default:${key}`);
    const timeout = this.#random.between(50, 8000);
    const { keyed } = this.#crew;
    if (this.#random.chance(0.2)) {
      return this.#take({ operation: 'keyed', semaphores }, async () => {
        return (await keyed.tryAcquire(keys)) ?? undefined;
      });
    }
    return this.#take({ operation: 'keyed', semaphores, timeout }, () =>
      keyed.acquire(keys, timeout),
    );
  }

  async #adopt(): Promise<Held | undefined> {
    const ticket = this.#crew.options.mailbox.tickets.shift();
    if (ticket === undefined) return undefined;
    const semaphore = this.#crew.semaphore(ticket.name);
    const what = { operation: 'adopt', semaphores: [ticket.name], ticket: ticket.id } as const;
    return this.#take(what, async () => alone(await semaphore.adopt(ticket)));
  }

  async #revoke(): Promise<void> {
    const { seen } = this.#crew.options.mailbox;
    if (seen.length === 0) return;
    const { name, id } = this.#random.pick(seen);
    const semaphore = this.#crew.semaphore(name);
    await this.#crew.record(
      { operation: 'revoke', semaphores: [name], ticket: id },
      () => semaphore.revoke(id),
      (result) => ({ result }),
    );
  }

  async #setLimit(): Promise<void> {
    const name = this.#random.pick(['pool', 'wide']);
    const limit = this.#random.between(1, name === 'pool' ? 4 : 8);
    const semaphore = this.#crew.semaphore(name);
    const what = { operation: 'set-limit' as const, semaphores: [name], permits: limit };
    await this.#crew.record(what, () => semaphore.setLimit(limit));
  }

  /** Changes or removes the rate, a budget or the group limit. */
  async #setRules(): Promise<void> {
    const name = this.#random.pick(['pool', 'wide']);
    const semaphore = this.#crew.semaphore(name);
    const { rate, budgets = {}, limit } = this.#crew.settingsOf(name);
    const isOff = this.#random.chance(0.2);
    const another = ({ permits, per }: RateSettings): RateSettings | undefined =>
      isOff ? undefined : drawRate(this.#random, (permits * 1000) / per);
    const [budget, before] = this.#random.pick(Object.entries(budgets));
    const groupLimit = isOff ? undefined : this.#random.between(1, limit);
    const [operation, call] = this.#random.pick([
      ['set-rate', () => semaphore.setRate(another(rate ?? before))],
      ['set-budget', () => semaphore.setBudget(budget, budgetOf(another(before)))],
      ['set-group-limit', () => semaphore.setGroupLimit(groupLimit)],
    ] as const);
    await this.#crew.record({ operation, semaphores: [name] }, call);
  }

  async #inspect(): Promise<void> {
    const name = this.#pickName();
    const semaphore = this.#crew.semaphore(name);
    await this.#crew.record({ operation: 'inspect', semaphores: [name] }, () =>
      semaphore.inspect(),
    );
  }

  async #reopen(): Promise<void> {
    const name = this.#pickName();
    const closing = this.#crew.closeSemaphore(name);
    this.#crew.open(name);
    await closing;
  }

  /** Acquires and releases a permit of each semaphore in one turn: such calls travel together. */
  async #burst(): Promise<void> {
    const { semaphores, hold } = this.#crew.options.workload;
    const asked = semaphores.map(({ name }) => this.#acquire(name));
    const all = (await Promise.all(asked)).filter((held) => held !== undefined);
    await this.#pause(this.#random.exponential(hold));
    await Promise.all(all.map((held) => this.#release(held)));
  }

  /** Records a request and its tickets. */
  async #take(what: Invocation, run: () => Promise<Held | undefined>): Promise<Held | undefined> {
    const { process, watch, mailbox } = this.#crew.options;
    return this.#crew.record(what, run, (held) => {
      if (held === undefined) return {};
      const tickets = held.handles.map((handle): Ticket => {
        const { id, name, slots, fencingToken: token } = handle;
        if (!name.startsWith('keyed:')) mailbox.seen.push({ name, id });
        return { semaphore: name, id, slots, token, until: watch.add(process, handle) };
      });
      mailbox.seen.splice(0, mailbox.seen.length - 20);
      return { tickets };
    });
  }

  async #hold(held: Held | undefined): Promise<void> {
    if (held === undefined) return;
    const { workload, mailbox } = this.#crew.options;
    await this.#pause(this.#holdTime(held), held);
    const [handle] = held.handles;
    if (handle !== undefined && this.#random.chance(0.1)) await this.#extend(handle);
    const given =
      (workload.weights.adopt ?? 0) > 0 && held.handles.length === 1 && this.#random.chance(0.15);
    const own = handle !== undefined && !handle.name.startsWith('keyed:');
    if (given && own && handle.held) {
      mailbox.tickets.push(handle.toJSON());
      await this.#pause(this.#random.exponential(5 * workload.think), held);
    }
    // A lost permit need not be given back.
    const gone = held.handles.length === 1 && handle?.held === false;
    if (!gone || this.#random.chance(0.5)) await this.#release(held);
  }

  /** Mostly short; sometimes longer than the ttl, so that it must be extended. */
  #holdTime({ handles }: Held): number {
    const { hold, semaphores } = this.#crew.options.workload;
    if (this.#random.chance(0.85)) return this.#random.exponential(hold);
    const ttl = semaphores.find(({ name }) => name === handles[0]?.name)?.ttl ?? 1000;
    return this.#random.real(0.3, 2) * Math.min(ttl, 5000);
  }

  async #extend(handle: Handle): Promise<void> {
    const { id, name } = handle;
    await this.#crew.record({ operation: 'extend', semaphores: [name], ticket: id }, () =>
      handle.extend(),
    );
  }

  async #release(held: Held): Promise<void> {
    const { process, watch } = this.#crew.options;
    const { handles } = held;
    for (const handle of handles) {
      watch.remove(process, handle);
      const spent = handle.name.startsWith('keyed:') ? undefined : this.#units(handle.name);
      if (spent !== undefined) handle.spent = spent;
    }
    const what = {
      operation: 'release' as const,
      semaphores: handles.map(({ name }) => name),
      ticket: handles.map(({ id }) => id).join(' '),
    };
    await this.#crew.record(
      what,
      () => held.release(),
      (result) => ({ result }),
    );
  }

  #abortSometimes(): AbortSignal | undefined {
    if (!this.#random.chance(0.2)) return undefined;
    const { process } = this.#crew.options;
    const controller = new AbortController();
    const due = process.scheduler.now + this.#random.exponential(300);
    process.runAt(due, () => controller.abort());
    return controller.signal;
  }

  /** Ends early with the run, or with the loss of a permit. */
  async #pause(duration: number, held?: Held): Promise<void> {
    const { process } = this.#crew.options;
    await new Promise<void>((resolve) => {
      process.runAt(process.scheduler.now + duration, resolve);
      void this.#crew.stopped.then(resolve);
      for (const handle of held?.handles ?? []) handle.on('lost', () => resolve());
    });
  }
}

function alone(handle: Handle): Held {
  return { handles: [handle], release: () => handle.release() };
}
