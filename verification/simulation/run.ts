import { Checker } from '../checker/checker.js';
import { type PlannedFault, planFaults } from './faults/plan.js';
import { semaphoreOf, strike, victimsOf } from './faults/strike.js';
import type { HistoryEvent, Violation } from '../history/events.js';
import type { Settings } from './settings.js';
import type { OpenStore } from './world/server.js';
import { World } from './world/world.js';

export interface RunResult {
  readonly settings: Settings;
  readonly faults: readonly PlannedFault[];
  readonly violations: readonly Violation[];
  readonly events: readonly HistoryEvent[];
  /** The SHA-256 of all events: the same seed, the same run. */
  readonly digest: string;
  /** Milliseconds of virtual time that have passed. */
  readonly lasted: number;
}

/** Milliseconds for which work continues when the last fault is over. */
const CALM = 8000;

/** Milliseconds beyond the ttl until the last calls, withdrawals and subscriptions have ended. */
const END = 40_000;

/** Runs one seed, to its end or until a promise is broken. */
export async function run(settings: Settings, openStore?: OpenStore): Promise<RunResult> {
  const checker = new Checker();
  const world = new World(settings, (event) => checker.read(event), openStore);
  const { scheduler, history, workload } = world;
  const longest = Math.max(...workload.semaphores.map(({ ttl }) => ttl), workload.keyedTtl);
  const [first] = workload.semaphores;
  const planned = planFaults(settings, first?.ttl ?? longest, longest);
  const faults = planned.filter(({ number }) => settings.only?.includes(number) ?? true);
  const quiet = scheduleFaults(faults, world, settings.minutes * 60_000);
  const stop = quiet + CALM;
  const close = stop + longest + END;
  const end = close + longest + END;
  scheduler.at(quiet, () => history.record('world', { type: 'quiet' }));
  scheduler.at(stop, () => world.stop());
  scheduler.at(close, () => world.close());
  let over = false;
  scheduler.at(end, async () => {
    await world.recordEnd();
    over = true;
  });
  const ended = catchCrashes(world);
  const isOver = (): boolean => over || checker.violations.length > 0;
  const observe = (): void => {
    world.observe();
    checker.passTo(scheduler.now);
  };
  await scheduler.run(isOver, observe).finally(ended);
  return {
    settings,
    faults,
    violations: checker.violations,
    events: history.events,
    // It takes a twentieth of the time of the run, and is not always asked for.
    get digest() {
      return history.digest();
    },
    lasted: scheduler.now,
  };
}

/** Gives when all is over. */
function scheduleFaults(faults: readonly PlannedFault[], world: World, least: number): number {
  const { scheduler, history } = world;
  let last = least;
  for (const fault of faults) {
    const { number, kind, at, duration } = fault;
    last = Math.max(last, at + duration + 0.1);
    scheduler.at(at, () => {
      const targets = victimsOf(fault, world);
      const semaphore = semaphoreOf(fault, world);
      const note = (phase: 'begin' | 'end') =>
        history.record('world', { type: 'fault', fault: number, kind, phase, targets, semaphore });
      note('begin');
      const end = strike(fault, world);
      scheduler.after(duration, () => {
        end();
        note('end');
      });
    });
  }
  return last;
}

/** The library must never end the process. */
function catchCrashes({ history }: World): () => void {
  const onCrash = (thrown: unknown): void => {
    const error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    history.record('world', { type: 'crash', error });
  };
  process.on('unhandledRejection', onCrash);
  process.on('uncaughtException', onCrash);
  return () => {
    process.off('unhandledRejection', onCrash);
    process.off('uncaughtException', onCrash);
  };
}
