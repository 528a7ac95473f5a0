import type { FaultEvent, HistoryEvent } from '../history/events.js';
import type { Certainty } from './certainty.js';

/** Milliseconds for which a fault may still show after its end. */
const ECHO = new Map([
  // A call without an answer ends after this time.
  ['straggle', 5500],
  ['cut', 1000],
  ['slow', 3000],
  ['lose-commands', 5500],
  ['lose-replies', 5500],
  ['refuse-writes', 1500],
  ['restart-with-data', 1000],
  ['restart-empty', 1000],
  ['restart-old', 1000],
  ['refuse-subscriptions', 6000],
  ['damaged', 1500],
]);

/** Milliseconds until a process that stood still has noticed its broken connections. */
const AWAKE = 50;

/** The process of a chaos run that causes the faults, and reads the server. */
export const NEMESIS = 'nemesis';

/** After these faults an answer may reach no process, though it was sent. */
const REPEATING = new Set(['cut', 'restart-with-data', 'restart-empty', 'restart-old']);

/** The faults that struck processes and semaphores, and when they were over. */
export class Troubles {
  readonly #certainty: Certainty;
  /** When each process was killed. */
  readonly #dead = new Map<string, number>();
  /** By process, or by 'of' and a semaphore; '' is for all. */
  readonly #last = new Map<string, number>();
  readonly #repeating = new Map<string, number>();
  /** When the network was well again. */
  readonly #calm = new Map<string, number>();
  /** The longest time for which a process was refused every write. */
  readonly #refused = new Map<string, { from: number; longest: number }>();
  readonly #stalled = new Map<string, number>();
  /** Wall clocks that were stepped. */
  readonly #stepped = new Map<string, number>();
  readonly rates = new Map<string, number>();

  constructor(certainty: Certainty) {
    this.#certainty = certainty;
  }

  read(event: HistoryEvent): void {
    if (event.type === 'started') this.rates.set(event.process, event.rate);
    if (event.type === 'stall') {
      const { process, until } = event;
      this.#stalled.set(process, Math.max(until, this.stalledUntil(process)));
      // The bytes of all others pass through it.
      if (process === NEMESIS) this.#last.set('', until + this.#certainty.echo);
    }
    if (event.type === 'fault') this.#strike(event);
  }

  #strike(event: FaultEvent): void {
    const { kind, at, phase, semaphore } = event;
    const { effectsOf, echo } = this.#certainty;
    const { targets = [semaphore === undefined ? '' : `of ${semaphore}`] } = event;
    if (effectsOf?.(event).costsTickets === false) return;
    const over = phase === 'begin' ? Infinity : at + (ECHO.get(kind) ?? 0) + echo;
    for (const target of targets) {
      if (kind === 'kill-process' && phase === 'begin') this.#dead.set(target, at);
      if (kind === 'refuse-writes') this.#noteRefusal(target, at, phase);
      if (kind === 'step-wall') this.#stepped.set(target, at);
      note(this.#last, target, over, phase);
      note(this.#calm, target, kind === 'slow' ? over : Math.min(over, at + echo), phase);
      if (REPEATING.has(kind)) note(this.#repeating, target, over, phase);
    }
  }

  #noteRefusal(process: string, at: number, phase: string): void {
    const { from = at, longest = 0 } = this.#refused.get(process) ?? {};
    const lasted = phase === 'end' ? Math.max(longest, at - from) : longest;
    this.#refused.set(process, { from: phase === 'begin' ? at : from, longest: lasted });
  }

  refusedFor(process: string): number {
    return this.#refused.get(process)?.longest ?? 0;
  }

  isDead(process: string): boolean {
    return this.#dead.has(process);
  }

  diedAt(process: string): number {
    return this.#dead.get(process) ?? Infinity;
  }

  stalledUntil(process: string): number {
    return this.#stalled.get(process) ?? -Infinity;
  }

  steppedAt(process: string): number {
    return this.#stepped.get(process) ?? -Infinity;
  }

  /**
   * Until when a fault may have struck the process and these semaphores; Infinity: it still does.
   */
  struckUntil(process: string, ...semaphores: readonly string[]): number {
    return this.#latestOf(this.#last, process, semaphores);
  }

  /** Since when the process can reach the server of that semaphore; Infinity: it cannot now. */
  reachableFrom(process: string, semaphore: string): number {
    return this.#latestOf(this.#calm, process, [semaphore]);
  }

  /** Until when answers may be lost on their way. */
  repeatsUntil(process: string): number {
    return Math.max(latest(this.#repeating, process), latest(this.#repeating, ''));
  }

  #latestOf(
    map: ReadonlyMap<string, number>,
    process: string,
    semaphores: readonly string[],
  ): number {
    const of = semaphores.map((name) => latest(map, `of ${name}`));
    const awake = this.stalledUntil(process) + AWAKE + this.#certainty.echo;
    return Math.max(latest(map, process), latest(map, ''), awake, ...of);
  }
}

/** Counts the faults that last, and notes until when the others show. */
function note(map: Map<string, number>, target: string, over: number, phase: string): void {
  const active = `${target} active`;
  const count = (map.get(active) ?? 0) + (phase === 'begin' ? 1 : -1);
  map.set(active, count);
  if (phase === 'end') map.set(target, Math.max(map.get(target) ?? -Infinity, over));
}

function latest(map: ReadonlyMap<string, number>, target: string): number {
  if ((map.get(`${target} active`) ?? 0) > 0) return Infinity;
  return map.get(target) ?? -Infinity;
}
