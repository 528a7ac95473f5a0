import * as fc from 'fast-check';

import type { Condition } from './faulty-process.js';
import type { Loss } from './lossy-server.js';
import { check, replayPath } from './reproducible.js';
import { PROCESSES, World } from './world.js';

describe('random programs of several processes', () => {
  it('never hold too much, and leave nothing behind', async () => {
    const limits = fc.integer({ min: 1, max: 4 });
    const property = fc.asyncProperty(limits, programs(60), async (limit, program) => {
      const world = new World(limit);
      await fc.asyncModelRun(() => ({ model: {}, real: world }), program);
      await world.end();
    });
    await check(property, 150);
  });
});

type Act = (world: World) => unknown;

/** What is done, and whether timers run afterwards. */
class Step implements fc.AsyncCommand<object, World> {
  readonly #title: string;
  readonly #act: Act;
  readonly #timersRun: boolean;

  constructor(title: string, act: Act, timersRun = true) {
    this.#title = title;
    this.#act = act;
    this.#timersRun = timersRun;
  }

  check(): boolean {
    return true;
  }

  async run(_model: object, world: World): Promise<void> {
    await this.#act(world);
    await world.look(this.#timersRun);
  }

  toString(): string {
    return `\n  ${this.#title}`;
  }
}

function programs(maxCommands: number) {
  const process = fc.nat(PROCESSES - 1);
  const permits = fc.integer({ min: 1, max: 3 });
  const pick = fc.nat(8);
  const timeout = fc.option(fc.nat(3000), { nil: undefined, freq: 3 });
  const acquire = fc.record({ process, permits, timeout }).map(acquireStep);
  const release = pick.map((at) => handleStep(`release #${at}`, at, (w, kept) => w.release(kept)));
  const steps = [
    acquire,
    acquire,
    acquire,
    release,
    release,
    fc.record({ process, permits }).map(tryStep),
    pick.map((at) => handleStep(`extend #${at}`, at, (world, kept) => world.extend(kept))),
    pick.map(abortStep),
    fc.record({ process, pick }).map(adoptStep),
    fc.record({ process, pick }).map(revokeStep),
    fc.record({ process, limit: fc.integer({ min: 1, max: 4 }) }).map(setLimitStep),
    fc.record({ process, condition: conditions }).map(conditionStep),
    process.map((at) => conditionStep({ process: at, condition: 'well' })),
    fc.record({ process, pick }).map(lateStep),
    losses.map(lossStep),
    process.map(crashStep),
    process.map(reopenStep),
    fc.integer({ min: 1, max: 300 }).map(advanceStep),
    fc.integer({ min: 300, max: 4000 }).map(advanceStep),
    fc.integer({ min: 1, max: 6000 }).map(stallStep),
    fc.integer({ min: -5000, max: 5000 }).map(wallStep),
  ];
  const replay = replayPath === undefined ? {} : { replayPath };
  return fc.commands(steps, { maxCommands, size: 'max', ...replay });
}

const conditions = fc.constantFrom<Condition>(
  'twice',
  'slow answers',
  'failing',
  'losing answers',
  'late',
  'cut off',
);
const losses = fc.constantFrom<Loss>(
  'restarted without data',
  'flushed',
  'tickets deleted',
  'queue deleted',
);

type Process = World['processes'][number];
type Kept = World['kept'][number];

/** Something that a process does which has not crashed. */
function processStep(title: string, at: number, act: (world: World, process: Process) => unknown) {
  return new Step(`process ${at}: ${title}`, (world) => {
    const process = world.processes[at];
    return process === undefined || process.crashed ? undefined : act(world, process);
  });
}

/** Something that is done with one of the handles that were not released. */
function handleStep(title: string, at: number, act: (world: World, kept: Kept) => unknown): Step {
  return new Step(title, (world) => {
    const kept = pickOne(
      world.kept.filter(({ released }) => !released),
      at,
    );
    return kept === undefined ? undefined : act(world, kept);
  });
}

function acquireStep(given: { process: number; permits: number; timeout: number | undefined }) {
  const { process, permits, timeout } = given;
  const title = `acquire ${permits}, timeout ${timeout}`;
  return processStep(title, process, (world, one) => world.acquire(one, permits, timeout));
}

function tryStep({ process, permits }: { process: number; permits: number }): Step {
  return processStep(`try ${permits}`, process, (world, one) => world.tryAcquire(one, permits));
}

function abortStep(at: number): Step {
  return new Step(`abort #${at}`, ({ pending }) => pickOne(pending, at)?.controller.abort());
}

function adoptStep({ process, pick }: { process: number; pick: number }): Step {
  return processStep(`adopt #${pick}`, process, (world, one) => {
    const kept = pickOne(world.kept, pick);
    if (kept !== undefined) world.adopt(one, kept);
  });
}

function revokeStep({ process, pick }: { process: number; pick: number }): Step {
  return processStep(`revoke #${pick}`, process, (world, one) => {
    const kept = pickOne(world.kept, pick);
    if (kept !== undefined) world.revoke(one, kept);
  });
}

function setLimitStep({ process, limit }: { process: number; limit: number }): Step {
  return processStep(`set limit ${limit}`, process, (world, one) => world.setLimit(one, limit));
}

function conditionStep({ process, condition }: { process: number; condition: Condition }): Step {
  return processStep(condition, process, (world, one) => world.become(one, condition));
}

function lateStep({ process, pick }: { process: number; pick: number }): Step {
  const title = `late call #${pick} is served`;
  return processStep(title, process, (world, one) => world.serveLate(one, pick));
}

function lossStep(what: Loss): Step {
  return new Step(what, (world) => world.lose(what));
}

function crashStep(at: number): Step {
  return processStep('crash', at, (world, process) => {
    process.crashed = true;
    return world.become(process, 'cut off');
  });
}

function reopenStep(at: number): Step {
  return processStep('close and reopen', at, (world, process) => world.reopen(process));
}

function advanceStep(milliseconds: number): Step {
  return new Step(`${milliseconds} ms pass`, (world) => world.clock.advance(milliseconds));
}

function stallStep(milliseconds: number): Step {
  const stall = (world: World): void => world.clock.stall(milliseconds);
  return new Step(`${milliseconds} ms pass, no timer runs`, stall, false);
}

function wallStep(milliseconds: number): Step {
  const step = (world: World): void => world.clock.stepWall(milliseconds);
  return new Step(`the wall clocks step by ${milliseconds} ms`, step);
}

function pickOne<T>(list: readonly T[], pick: number): T | undefined {
  return list.length === 0 ? undefined : list.at(-1 - (pick % list.length));
}
