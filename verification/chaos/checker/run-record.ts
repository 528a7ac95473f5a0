import type {
  FinalEvent,
  LostEvent,
  OkEvent,
  Operation,
  SeenEvent,
  SemaphoreTerms,
} from '../../history/events.js';
import type { FaultEffects, FaultKind } from '../history/fault-kinds.js';
import type { Span, SpanIndex } from './span-index.js';

/** One call from its invocation to its end, as far as there is one. */
export interface Call {
  readonly process: string;
  readonly call: number;
  readonly operation: Operation;
  readonly invoked: number;
  readonly timeout: number | undefined;
  readonly permits: number;
  readonly ticket: string | undefined;
  settled: { readonly at: number; readonly outcome: 'ok' | 'fail' | 'unknown' } | undefined;
}

/** The state that a holder saw on its handle. */
export interface Look {
  readonly at: number;
  readonly until: number;
  readonly held: boolean;
}

/** A ticket as its holder could know it, and no more. */
export interface Hold {
  readonly process: string;
  readonly id: string;
  readonly slots: readonly number[];
  readonly token: number;
  readonly permits: number;
  readonly invoked: number;
  readonly granted: number;
  /**
   * Until when its holder was certain of it when it heard of it, and by the last thing that it
   * wrote.
   */
  readonly certain: number;
  until: number;
  /** When its holder stopped believing in it, by release, loss or its own death. */
  end: number;
  readonly looks: Look[];
  readonly losses: LostEvent[];
  release: Call | undefined;
  released: OkEvent | undefined;
}

export interface Fault extends Span {
  readonly fault: number;
  readonly kind: FaultKind;
  readonly effects: FaultEffects;
  /** While it was certainly there. */
  readonly active: Span;
  readonly targets: readonly string[] | undefined;
  readonly step: number | undefined;
  readonly key: string | undefined;
  readonly node: number | undefined;
}

/** The semaphore of the run. */
export interface Header extends SemaphoreTerms {
  readonly at: number;
  readonly claim: number;
  readonly recovery: number;
  /** Whether requests are granted in order of arrival: they are not where there is no queue. */
  readonly ordered: boolean;
}

/** A history with related events joined. */
export interface RunRecord {
  readonly header: Header;
  /** The longest that a ticket stays on the server without an extension, in milliseconds. */
  readonly life: number;
  readonly calls: readonly Call[];
  /** By the time of their grant. */
  readonly holds: readonly Hold[];
  readonly faults: readonly Fault[];
  /** The times in which each process could not run. */
  readonly stalls: ReadonlyMap<string, SpanIndex<Span>>;
  readonly seen: readonly SeenEvent[];
  readonly quiet: number | undefined;
  readonly final: FinalEvent | undefined;
  /** When each process wrote its last event. */
  readonly lastWritten: ReadonlyMap<string, number>;
  readonly end: number;
}

/** The process that injects the faults, looks at the server, and carries all bytes. */
export const NEMESIS = 'nemesis';

/**
 * Whether a process, or the one that carries its bytes, could not run at some moment between `from`
 * and `to`.
 */
export function stoodStill(run: RunRecord, process: string, from: number, to: number): boolean {
  return [process, NEMESIS].some((name) => run.stalls.get(name)?.touches(from, to) === true);
}

export function strikes(fault: Fault, process: string): boolean {
  return fault.targets === undefined || fault.targets.includes(process);
}
