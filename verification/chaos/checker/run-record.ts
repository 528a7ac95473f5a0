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
  readonly operation: Operation;
  readonly invoked: number;
  readonly permits: number;
  readonly ticket: string | undefined;
  settled: { readonly at: number; readonly outcome: 'ok' | 'fail' | 'unknown' } | undefined;
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
  /** When its holder first read that it was not held. */
  unheld: number;
  lost: LostEvent | undefined;
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
  readonly stalls: readonly (Span & { readonly process: string })[];
  readonly seen: readonly SeenEvent[];
  readonly quiet: number | undefined;
  readonly final: FinalEvent | undefined;
  /** When each process wrote its last event. */
  readonly lastWritten: ReadonlyMap<string, number>;
  readonly end: number;
}

/** The process that injects the faults, reads the server, and carries all bytes. */
export const NEMESIS = 'nemesis';

/**
 * Whether a fault that may cost calls, and with them tickets, may still show at that moment, or the
 * process, or the process that carries its bytes, stood still before.
 */
export function isStruck(run: RunRecord, process: string, at: number): boolean {
  const since = at - (run.life + RECONNECT + SLACK);
  const stood = touching(run.stalls, since, at).some(({ process: of }) =>
    [process, NEMESIS].includes(of),
  );
  return (
    stood ||
    touching(run.faults, since, at).some(
      ({ effects, targets }) => effects.costsTickets && targets?.includes(process) !== false,
    )
  );
}

/** The spans that have a moment in common with `from` to `to`, both included. */
export function touching<S extends Span>(spans: readonly S[], from: number, to: number): S[] {
  return spans.filter((span) => span.from <= to && span.to >= from);
}
