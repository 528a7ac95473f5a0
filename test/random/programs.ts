import { expect } from 'chai';
import * as fc from 'fast-check';

import type { ManualClock } from '../../src/manual-clock.js';
import { adoptedId, ticketId } from '../../src/ticket-id.js';
import type { BackendSide, Client } from './backend-side.js';
import type { Ask, ReferenceModel } from './reference-model.js';
import { replayPath } from './reproducible.js';

export const CLIENTS: readonly Client[] = [
  { name: 'a', ttl: 2000 },
  { name: 'b', ttl: 3500.25 },
  { name: 'c', ttl: 8000 },
  { name: 'd', ttl: 30_000 },
];

/** The plain model, and what each client remembers of its own requests. */
export interface Plan {
  readonly model: ReferenceModel;
  readonly memories: readonly Memory[];
  /** Every id that there ever was. */
  readonly ids: string[];
  /** How many requests were made. */
  made: number;
}

interface Memory {
  readonly client: Client;
  /** Requests in the queue, as far as it knows: it may have missed its grant. */
  readonly waiting: Map<string, Ask>;
  readonly held: Set<string>;
  crashed: boolean;
}

/** The backends, which get the same calls. */
export interface Backends {
  readonly clock: ManualClock;
  readonly sides: readonly BackendSide[];
}

type Act = (plan: Plan, backends: Backends, memory: Memory) => Promise<string>;

/** One step of a random program. Operands are picked by number from what is there, so that it shrinks well. */
class Step implements fc.AsyncCommand<Plan, Backends> {
  readonly #who: number;
  readonly #act: Act;
  readonly #possible: (plan: Plan, memory: Memory) => boolean;
  #did = 'nothing';

  constructor(who: number, act: Act, possible: (plan: Plan, memory: Memory) => boolean) {
    this.#who = who;
    this.#act = act;
    this.#possible = possible;
  }

  check(plan: Readonly<Plan>): boolean {
    const memory = this.#memory(plan);
    return !memory.crashed && this.#possible(plan, memory);
  }

  async run(plan: Plan, backends: Backends): Promise<void> {
    const memory = this.#memory(plan);
    this.#did = `${memory.client.name} …`;
    this.#did = `${memory.client.name} ${await this.#act(plan, backends, memory)}`;
    const { model } = plan;
    const expected = model.state();
    const slots = expected.holders.flatMap((ticket) => ticket.slots);
    expect(new Set(slots).size, 'slots of the model').to.equal(expected.held);
    for (const side of backends.sides) await side.expectState(model.now, expected);
  }

  toString(): string {
    return `\n  ${this.#did}`;
  }

  #memory({ memories }: Plan): Memory {
    const memory = memories[this.#who % memories.length];
    if (memory === undefined) throw new Error('there are no clients');
    return memory;
  }
}

export function newPlan(model: ReferenceModel): Plan {
  const memories = CLIENTS.map((client) => {
    return { client, waiting: new Map<string, Ask>(), held: new Set<string>(), crashed: false };
  });
  return { model, memories, ids: [], made: 0 };
}

/** Programs of at most so many steps. */
export function programs(maxCommands: number) {
  const who = fc.nat(CLIENTS.length - 1);
  const picks = fc.array(fc.nat(20), { minLength: 1, maxLength: 3 });
  const wanted = fc.record({ permits: small(4), wait: fc.boolean() });
  const asks = { wanted: fc.array(wanted, { minLength: 1, maxLength: 3 }), again: fc.boolean() };
  const ask = fc.record({ who, ...asks, late: fc.constant(false), repeat: fc.boolean() });
  const askAgain = fc.record({
    who,
    wanted: fc.constant([]),
    again: fc.constant(true),
    late: fc.boolean(),
    repeat: fc.boolean(),
  });
  const steps: fc.Arbitrary<Step>[] = [
    ask.map(askStep),
    ask.map(askStep),
    askAgain.map(askStep),
    fc.record({ who, picks }).map(releaseStep),
    fc.record({ who, picks }).map(releaseStep),
    fc.record({ who, picks }).map(withdrawStep),
    fc.record({ who, picks }).map(extendStep),
    fc.nat(400).map((quarters) => passStep(quarters / 4)),
    fc.integer({ min: 1, max: 9 }).map((seconds) => passStep(seconds * 1000)),
    fc.record({ who, limit: small(6) }).map(setLimitStep),
    fc.record({ who, pick: fc.nat(12), repeat: fc.boolean() }).map(adoptStep),
    fc.record({ who, pick: fc.nat(12) }).map(revokeStep),
    who.map(crashStep),
  ];
  const replay = replayPath === undefined ? {} : { replayPath };
  return fc.commands(steps, { maxCommands, size: 'max', ...replay });
}

function small(max: number): fc.Arbitrary<number> {
  return fc.integer({ min: 1, max });
}

interface AskOptions {
  readonly who: number;
  readonly wanted: readonly { readonly permits: number; readonly wait: boolean }[];
  readonly again: boolean;
  readonly late: boolean;
  readonly repeat: boolean;
}

function askStep({ who, wanted, again, late, repeat }: AskOptions): Step {
  return new Step(
    who,
    async (plan, backends, memory) => {
      const { client, waiting } = memory;
      const fresh = wanted.map(({ permits, wait }): Ask => {
        const id = ticketId(client.name, (plan.made += 1), permits);
        if (!late) plan.ids.push(id);
        return { id, permits, wait, arrival: undefined };
      });
      // A process asks for all that it waits for once its lease is over: a backend may have dropped any of it.
      const old = again || !plan.model.isAlive(client.name) ? [...waiting.values()] : [];
      const asks = [...old, ...fresh];
      for (let time = 0; time < (repeat ? 2 : 1); time++) {
        await acquire(plan, backends, memory, asks, late);
      }
      const shown = asks.map(({ id, wait, arrival }) => {
        if (arrival !== undefined) return `${id} again`;
        return wait ? id : `${id} at once`;
      });
      return `asks${late ? ' late' : ''} for ${shown.join(', ')}${repeat ? ', twice' : ''}`;
    },
    (_plan, { waiting }) => wanted.length > 0 || waiting.size > 0,
  );
}

async function acquire(
  { model }: Plan,
  { sides }: Backends,
  { client, waiting, held }: Memory,
  asks: readonly Ask[],
  late: boolean,
): Promise<void> {
  const expected = model.acquire(client.name, client.ttl, asks, late);
  for (const side of sides) await side.acquire(client, asks, late, model.now, expected);
  asks.forEach((ask, i) => {
    const verdict = expected.verdicts[i];
    if (verdict?.kind === 'granted') waiting.delete(ask.id);
    if (verdict?.kind === 'granted') held.add(ask.id);
    if (verdict?.kind === 'queued') waiting.set(ask.id, { ...ask, arrival: verdict.arrival });
  });
}

interface PickOptions {
  readonly who: number;
  readonly picks: readonly number[];
}

/** Gives back what it holds, or held; once in a while what was never there. */
function releaseStep({ who, picks }: PickOptions): Step {
  const chosen = ({ held }: Memory): string[] => pickSome([...held, 'nobody.1'], picks);
  return new Step(
    who,
    (plan, backends, memory) => release(plan, backends, memory, chosen(memory)),
    (_plan, { held }) => held.size > 0,
  );
}

/** As after an abort or a timeout. */
function withdrawStep({ who, picks }: PickOptions): Step {
  return new Step(
    who,
    (plan, backends, memory) => {
      return release(plan, backends, memory, pickSome([...memory.waiting.keys()], picks));
    },
    (_plan, { waiting }) => waiting.size > 0,
  );
}

async function release(
  { model }: Plan,
  { sides }: Backends,
  { client, waiting, held }: Memory,
  ids: readonly string[],
): Promise<string> {
  const expected = model.release(client.name, ids);
  for (const side of sides) await side.release(client, ids, model.now, expected);
  for (const id of ids) waiting.delete(id);
  for (const id of ids) held.delete(id);
  return `gives back ${ids.join(', ')}`;
}

function extendStep({ who, picks }: PickOptions): Step {
  return new Step(
    who,
    async ({ model }, { sides }, { client, held, waiting }) => {
      const ids = pickSome([...held, ...waiting.keys()], picks);
      const expected = model.extend(client.name, client.ttl, ids);
      const mayRemember = (id: string): boolean => model.revoked.has(id);
      for (const side of sides) await side.extend(client, ids, model.now, expected, mayRemember);
      return `extends ${ids.join(', ')}`;
    },
    (_plan, { held, waiting }) => held.size + waiting.size > 0,
  );
}

function passStep(milliseconds: number): Step {
  return new Step(
    0,
    async ({ model }, { clock }) => {
      model.now += milliseconds;
      clock.stall(milliseconds);
      return `sees ${milliseconds} ms pass`;
    },
    () => true,
  );
}

function setLimitStep({ who, limit }: { who: number; limit: number }): Step {
  return new Step(
    who,
    async ({ model }, { sides }, { client }) => {
      const expected = model.setLimit(client.name, limit);
      for (const side of sides) await side.setLimit(client, limit, model.now, expected);
      return `sets the limit to ${limit}`;
    },
    () => true,
  );
}

function adoptStep({ who, pick, repeat }: { who: number; pick: number; repeat: boolean }): Step {
  return new Step(
    who,
    async (plan, { sides }, { client, held }) => {
      const { model } = plan;
      const id = pickOne(adoptable(plan), pick);
      const newId = adoptedId(ticketId(client.name, (plan.made += 1), 1), id);
      for (let time = 0; time < (repeat ? 2 : 1); time++) {
        const expected = model.adopt(client.name, client.ttl, id, newId);
        for (const side of sides) await side.adopt(client, id, newId, model.now, expected);
        if (expected.ticket !== undefined) held.add(newId);
      }
      if (held.has(newId)) plan.ids.push(newId);
      return `adopts ${id} as ${newId}${repeat ? ', twice' : ''}`;
    },
    (plan) => adoptable(plan).length > 0,
  );
}

/** Only a holder can hand its ticket over: one that still waits has not heard of its grant. */
function adoptable({ ids, memories }: Plan): string[] {
  return ids.filter((id) => !memories.some(({ waiting }) => waiting.has(id)));
}

/** The latest are the most likely to be there still. */
function pickOne(list: readonly string[], pick: number): string {
  return list.at(-1 - (pick % list.length)) ?? '';
}

function revokeStep({ who, pick }: { who: number; pick: number }): Step {
  return new Step(
    who,
    async ({ model, ids }, { sides }, { client }) => {
      const id = pickOne(ids, pick);
      const expected = model.revoke(client.name, id);
      for (const side of sides) await side.revoke(client, id, model.now, expected);
      return `revokes ${id}`;
    },
    ({ ids }) => ids.length > 0,
  );
}

/** It never calls again: its tickets and its lease run out. */
function crashStep(who: number): Step {
  return new Step(
    who,
    async (_plan, _backends, memory) => {
      memory.crashed = true;
      return 'crashes';
    },
    // The time needs somebody who sees it pass.
    (_plan, { client }) => client !== CLIENTS[0],
  );
}

/** Each at most once. */
function pickSome(list: readonly string[], picks: readonly number[]): string[] {
  const chosen = picks.flatMap((pick) => list[pick % list.length] ?? []);
  return [...new Set(chosen)];
}
