import { expect } from 'chai';
import * as fc from 'fast-check';

import { ticketId } from '../../src/backends/ticket-id.js';
import { check } from '../random/reproducible.js';
import { describeWithServer } from '../support/require-server.js';
import { closeFixtures, RedisFixture } from './port-fixture.js';
import { Pushes } from './pushes.js';
import { type Asking, isLapsed, SharedCalls, type Terms } from './several-lock-step.js';

const START = 1_795_236_819_680;
const CLIENTS = ['a', 'b', 'c'];

/** The limits of three semaphores, and what some callers think that they are. */
const LIMITS = [1, 2, 5];

const ACTS = { ask: 30, together: 20, extend: 15, release: 35, askLate: 4, setLimit: 0, pass: 30 };

type Act = keyof typeof ACTS;

interface Habits {
  readonly longestPause: number;
  /** Whether callers of one semaphore differ in the limit that they name. */
  readonly limitsDiffer?: boolean;
  readonly acts?: Partial<Record<Act, number>>;
}

const HABITS: Readonly<Record<string, Habits>> = {
  'short pauses': { longestPause: 50 },
  'tickets and waiters that lapse': { longestPause: 3000 },
  'limits that differ': { longestPause: 300, limitsDiffer: true },
  'stored limits': { longestPause: 300, acts: { setLimit: 10 } },
};

interface Step {
  readonly act: Act;
  readonly who: number;
  /** What one call names: a semaphore each, of which the same may come again with other terms. */
  readonly entries: readonly { readonly semaphore: number; readonly pick: number }[];
  /** 0 ≤ dice < 100. */
  readonly dice: number;
}

function programs({ acts }: Habits): fc.Arbitrary<Step[]> {
  const weights = Object.entries({ ...ACTS, ...acts }) as [Act, number][];
  const entry = fc.record({ semaphore: fc.nat(LIMITS.length - 1), pick: fc.nat(99) });
  const operands = {
    who: fc.nat(CLIENTS.length - 1),
    entries: fc.array(entry, { minLength: 1, maxLength: 5 }),
    dice: fc.nat(99),
  };
  const steps = weights
    .filter(([, weight]) => weight > 0)
    .map(([act, weight]) => {
      return { arbitrary: fc.record({ act: fc.constant(act), ...operands }), weight };
    });
  return fc.array(fc.oneof(...steps), { maxLength: 150, size: 'max' });
}

/** What one client knows of its requests to one semaphore. */
interface Mine {
  readonly waiting: Set<string>;
  readonly held: Set<string>;
  queuedAt: number;
}

class Program {
  readonly trace: string[] = [];
  readonly pair: SharedCalls;
  readonly #habits: Habits;
  readonly #mine = new Map<string, Mine>();
  #made = 0;
  #last: readonly Asking[] = [];

  constructor(pair: SharedCalls, habits: Habits) {
    this.pair = pair;
    this.#habits = habits;
  }

  async run(steps: readonly Step[], pass: (milliseconds: number) => void): Promise<void> {
    for (const step of steps) {
      if (step.act === 'pass') pass((this.#habits.longestPause * step.dice) / 99);
      this.trace.push(JSON.stringify(step));
      await this.#do(step);
      await this.pair.inspect();
    }
  }

  async #do({ act, who, entries, dice }: Step): Promise<void> {
    const client = CLIENTS[who] ?? 'a';
    switch (act) {
      case 'ask':
        return this.#ask(client, entries, dice);
      case 'askLate': {
        const asked = this.#inRuns(client, entries);
        const late = asked.map((entry) => this.#asking(client, entry, 'wait'));
        await this.pair.acquire(late, this.pair.now - 0.5);
        return;
      }
      case 'together':
        return this.#together(client, entries, dice);
      case 'extend': {
        const named = this.#naming(client, entries, dice);
        return this.pair.extend(named, dice < 10);
      }
      case 'release': {
        const named = this.#naming(client, entries, dice);
        const known = named.map((one) => (dice % 4 === 0 ? { ...one, limit: 0 } : one));
        await this.pair.release(known);
        for (const { ids, key } of known) this.#forget(client, key.name, ids);
        return;
      }
      case 'setLimit': {
        const [entry] = entries;
        const terms = this.#terms(client, entry?.semaphore ?? 0, 0);
        return this.pair.setLimit(terms, dice % 6);
      }
      case 'pass':
        return;
    }
  }

  async #ask(client: string, entries: Step['entries'], dice: number): Promise<void> {
    const named = new Set<number>();
    const asking = this.#inRuns(client, entries).map((entry): Asking => {
      const fresh = this.#asking(client, entry, entry.pick < 30 ? 'try' : 'wait');
      const mine = this.#of(client, fresh.key.name);
      const again = isLapsed(mine.queuedAt, this.pair.now) || dice < 40;
      const first = again && !named.has(entry.semaphore) ? [...mine.waiting] : [];
      named.add(entry.semaphore);
      return {
        ...fresh,
        asks: [...first.map((id) => ({ id, how: 'again' as const })), ...fresh.asks],
      };
    });
    await this.#note(client, asking, await this.pair.acquire(asking));
  }

  /** One of each, of other semaphores; now and then the same call again. */
  async #together(client: string, entries: Step['entries'], dice: number): Promise<void> {
    const each = new Map(entries.map((entry) => [entry.semaphore, entry]));
    const fresh = [...each.values()].map((entry) => this.#asking(client, entry, 'try'));
    const asking = dice < 20 && this.#last[0]?.client === client ? this.#last : fresh;
    this.#last = asking;
    const replies = await this.pair.acquireTogether(asking, this.pair.now + (dice < 5 ? -1 : 1));
    await this.#note(client, asking, replies ?? []);
  }

  async #note(client: string, asking: readonly Asking[], replies: readonly unknown[]) {
    const all = replies as Awaited<ReturnType<SharedCalls['acquire']>>;
    asking.forEach(({ key, asks }, i) => {
      const mine = this.#of(client, key.name);
      asks.forEach(({ id }, j) => {
        const kind = all[i]?.verdicts[j]?.kind;
        if (kind === 'queued') mine.queuedAt = this.pair.now;
        if (kind === 'queued') mine.waiting.add(id);
        else if (kind !== undefined) mine.waiting.delete(id);
        if (kind === 'granted') mine.held.add(id);
      });
    });
  }

  #asking(
    client: string,
    { semaphore, pick }: Step['entries'][number],
    how: 'wait' | 'try',
  ): Asking {
    this.#made += 1;
    const permits = how === 'wait' && pick > 80 ? 2 : 1;
    const number = this.#made * LIMITS.length + semaphore;
    const terms = this.#terms(client, semaphore, pick);
    return { ...terms, asks: [{ id: ticketId(client, number, permits), how }] };
  }

  #naming(client: string, entries: Step['entries'], dice: number) {
    return this.#inRuns(client, entries).map(({ semaphore, pick }) => {
      const terms = this.#terms(client, semaphore, pick);
      const { held, waiting } = this.#of(client, terms.key.name);
      const known = [...held, ...(dice < 30 ? waiting : [])];
      return { ...terms, ids: [...known.filter((_, i) => (i + pick) % 3 > 0), 'never.1'] };
    });
  }

  /**
   * As the engine sends them: none twice with the same terms. Those of the same terms side by side,
   * as scripts take them.
   */
  #inRuns(client: string, entries: Step['entries']): Step['entries'] {
    const textOf = ({ semaphore, pick }: Step['entries'][number]): string => {
      const { limit, ttl, label } = this.#terms(client, semaphore, pick);
      return `${limit} ${ttl} ${label} ${semaphore}`;
    };
    const each = new Map(entries.map((entry) => [textOf(entry), entry]));
    return [...each].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
  }

  /** Entries of one semaphore may differ in each of these. */
  #terms(client: string, semaphore: number, pick: number): Terms {
    const key = this.pair.keys[semaphore];
    if (key === undefined) throw new Error(`no semaphore ${semaphore}`);
    const limit = (LIMITS[semaphore] ?? 1) + (this.#habits.limitsDiffer === true ? pick % 3 : 0);
    // An id belongs to one semaphore object, which has one label.
    const label = `label ${client} ${semaphore}`;
    return { key, client, limit, ttl: [900, 30_000][pick % 2] ?? 0, label };
  }

  #of(client: string, name: string): Mine {
    const place = `${client} ${name}`;
    const mine = this.#mine.get(place) ?? { waiting: new Set(), held: new Set(), queuedAt: -1e15 };
    this.#mine.set(place, mine);
    return mine;
  }

  #forget(client: string, name: string, ids: readonly string[]): void {
    const { held, waiting } = this.#of(client, name);
    for (const id of ids) for (const list of [held, waiting]) list.delete(id);
  }
}

function isOf(id: string, semaphore: number): boolean {
  return parseInt(id.split('.')[1] ?? '', 36) % LIMITS.length === semaphore;
}

describeWithServer('calls of several semaphores, in lock-step', (server) => {
  let redis: RedisFixture;
  let pushes: Pushes;
  let programsRun = 0;

  before('one subscription for each client, for all programs', async () => {
    redis = new RedisFixture(server());
    pushes = new Pushes(redis, CLIENTS);
    await pushes.open();
  });
  after(closeFixtures);

  for (const [what, habits] of Object.entries(HABITS)) {
    it(`say the same with ${what}`, async () => {
      let taken = 0;
      const property = fc.asyncProperty(programs(habits), async (steps) => {
        taken += await run(habits, steps);
      });
      await check(property, 15);
      if (redis.backend.acquireTogether !== undefined) expect(taken).to.be.above(0);
    });
  }

  /** How often several tickets were taken together. */
  async function run(habits: Habits, steps: readonly Step[]): Promise<number> {
    programsRun += 1;
    redis.time.now = START;
    const keys = LIMITS.map((_, i) => ({ ...redis.key, name: `shared-${programsRun}-${i}` }));
    const pair = new SharedCalls(redis, keys, CLIENTS);
    pushes.reader = pair.redis;
    const program = new Program(pair, habits);
    try {
      await program.run(steps, (milliseconds) => redis.pass(Math.round(milliseconds * 4) / 4));
      await pushes.allIn();
      pair.compareOrder(isOf);
    } catch (error) {
      throw new Error(`${program.trace.slice(-20).join('\n')}\n${String(error)}`, { cause: error });
    }
    return pair.together.taken;
  }
});
