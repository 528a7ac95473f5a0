import type {
  FinalEvent,
  LostEvent,
  OkEvent,
  Operation,
  SeenEvent,
  SemaphoreSettings,
} from '../../history/events.js';
import type { FaultEffects, FaultKind } from '../history/fault-kinds.js';
import { RECONNECT, SLACK } from './precision.js';

export interface Span {
  readonly from: number;
  readonly to: number;
}

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

/** The state that a holder read from its handle. */
export interface Reading {
  readonly at: number;
  readonly until: number;
  readonly held: boolean;
}

/** A ticket as its holder knew it. */
export interface Hold {
  readonly process: string;
  readonly id: string;
  readonly slots: readonly number[];
  readonly token: number;
  readonly permits: number;
  readonly invoked: number;
  readonly granted: number;
  /** Until when its holder was certain of it at first, and by its last event. */
  readonly certain: number;
  until: number;
  /** When its holder stopped believing in it, by release, loss or its own death. */
  end: number;
  readonly readings: Reading[];
  readonly losses: LostEvent[];
  release: Call | undefined;
  released: OkEvent | undefined;
}

export interface Fault extends Span {
  readonly fault: number;
  readonly kind: FaultKind;
  readonly effects: FaultEffects;
  readonly targets: readonly string[] | undefined;
  readonly step: number | undefined;
  readonly key: string | undefined;
  readonly node: number | undefined;
}

/** The semaphore of the run. */
export interface Header extends SemaphoreSettings {
  readonly at: number;
  readonly claim: number;
  readonly recovery: number;
}

/** A history whose related events are joined. */
export interface RunRecord {
  readonly header: Header;
  /** The longest that a ticket stays on the server without an extension, in milliseconds. */
  readonly life: number;
  readonly calls: readonly Call[];
  /** By the time of their grant. */
  readonly holds: readonly Hold[];
  readonly faults: readonly Fault[];
  /** The times in which each process could not run. */
  readonly stalls: ReadonlyMap<string, readonly Span[]>;
  readonly seen: readonly SeenEvent[];
  readonly quiet: number | undefined;
  readonly final: FinalEvent | undefined;
  /** When each process wrote its last event. */
  readonly lastWritten: ReadonlyMap<string, number>;
  readonly end: number;
}

/** The process that injects the faults, reads the server, and carries all bytes. */
export const NEMESIS = 'nemesis';

/** Whether a process, or the process that carries its bytes, stood still in that time. */
export function stoodStill(run: RunRecord, process: string, from: number, to: number): boolean {
  return [process, NEMESIS].some((name) => touch(run.stalls.get(name) ?? [], from, to));
}

function strikes(fault: Fault, process: string): boolean {
  return fault.targets === undefined || fault.targets.includes(process);
}

/** Whether a fault that may cost calls, and with them tickets, may still show at that moment. */
export function isStruck(run: RunRecord, process: string, at: number): boolean {
  const since = at - (run.life + RECONNECT + SLACK);
  const costly = touching(run.faults, since, at).filter(({ effects }) => effects.costsTickets);
  return costly.some((fault) => strikes(fault, process)) || stoodStill(run, process, since, at);
}

/** The spans that have a moment in common with `from` to `to`, both included. */
export function touching<S extends Span>(spans: readonly S[], from: number, to: number): S[] {
  return spans.filter((span) => span.from <= to && span.to >= from);
}

export function touch(spans: readonly Span[], from: number, to: number): boolean {
  return spans.some((span) => span.from <= to && span.to >= from);
}
