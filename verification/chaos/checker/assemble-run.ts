import type {
  FaultEvent,
  HistoryEvent,
  InvokeEvent,
  OkEvent,
  RunEvent,
} from '../../history/events.js';
import { effectsOf, isFaultKind } from '../history/fault-kinds.js';
import type { Call, Fault, Header, Hold, RunRecord } from './run-record.js';

type EventOf<T extends HistoryEvent['type']> = Extract<HistoryEvent, { readonly type: T }>;
type Finder = <T extends HistoryEvent['type']>(...types: T[]) => EventOf<T>[];

/** Reads events, which must be in order of time, into calls, holds and faults. */
export function assembleRun(events: readonly HistoryEvent[]): RunRecord {
  const all: Finder = <T extends HistoryEvent['type']>(...types: T[]) =>
    events.filter((event): event is EventOf<T> => types.some((type) => type === event.type));
  const header = headerOf(all('run')[0]);
  const calls = new Map(all('invoke').map((event) => [keyOf(event), callOf(event)]));
  for (const event of [...all('ok'), ...all('fail', 'unknown')]) {
    known(calls, keyOf(event)).settled = { at: event.at, outcome: event.type };
  }
  const struck = all('fault');
  const faults = [...new Set(struck.map(({ fault }) => fault))]
    .map((number) => faultOf(struck.filter(({ fault }) => fault === number)))
    .toSorted((a, b) => a.from - b.from);
  const stalls = all('stall').map(({ process, from, until }) => ({ process, from, to: until }));
  const deaths = new Map<string, number>();
  for (const { kind, targets = [], from, to } of faults) {
    for (const process of targets) {
      if (kind === 'stop-process') stalls.push({ process, from, to });
      if (kind === 'kill-process') deaths.set(process, from);
    }
  }
  const holds = holdsOf(all, calls);
  for (const hold of holds) hold.end = endOf(hold, deaths.get(hold.process) ?? Infinity);
  return {
    header,
    life: Math.max(header.ttl, header.claim),
    calls: [...calls.values()],
    holds,
    faults,
    stalls,
    lastWritten: new Map(events.map(({ process, at }) => [process, at])),
    end: events.at(-1)?.at ?? 0,
    quiet: all('quiet')[0]?.at,
    final: all('final')[0],
    seen: all('seen'),
  };
}

function keyOf({ process, call }: { readonly process: string; readonly call: number }): string {
  return `${process} ${call}`;
}

/** A history that contradicts itself proves nothing. */
function known<T>(values: ReadonlyMap<string, T>, key: string): T {
  const value = values.get(key);
  if (value === undefined) throw new Error(`the history has no beginning of ${key}`);
  return value;
}

function callOf({ process, operation, at, permits = 1, ticket }: InvokeEvent): Call {
  return { process, operation, invoked: at, permits, ticket, settled: undefined };
}

/** By the time of their grant. */
function holdsOf(all: Finder, calls: ReadonlyMap<string, Call>): Hold[] {
  const oks = all('ok').map((ok) => ({ ok, call: known(calls, keyOf(ok)) }));
  const granted = oks.flatMap(({ ok, call }) => grantOf(ok, call));
  const holds = new Map(granted.map((hold) => [hold.id, hold]));
  if (holds.size < granted.length) throw new Error('a ticket is granted twice');
  for (const { at, ticket, until } of all('held')) {
    const hold = known(holds, ticket);
    // A handle that is lost does not show how long it was held.
    if (until > at) hold.until = Math.max(hold.until, until);
    else hold.unheld = Math.min(hold.unheld, at);
  }
  for (const lost of all('lost')) known(holds, lost.ticket).lost ??= lost;
  for (const call of calls.values()) {
    if (call.operation === 'release') known(holds, call.ticket ?? '').release = call;
  }
  for (const { ok, call } of oks) {
    if (call.operation === 'release') known(holds, call.ticket ?? '').released = ok;
  }
  return granted;
}

function grantOf(ok: OkEvent, { permits, invoked }: Call): Hold[] {
  return (ok.tickets ?? []).map(({ id, slots, token, until }) => {
    const grant = { process: ok.process, id, slots, token, permits, invoked, granted: ok.at };
    const certainty = { certain: until, until, end: until, unheld: Infinity };
    return { ...grant, ...certainty, lost: undefined, release: undefined, released: undefined };
  });
}

function headerOf(run: RunEvent | undefined): Header {
  const [terms] = run?.semaphores ?? [];
  if (run === undefined || terms === undefined) throw new Error('the history has no run event');
  const { at, claim = 0, recovery = Infinity } = run;
  return { at, ...terms, claim, recovery };
}

function faultOf(events: readonly FaultEvent[]): Fault {
  const [first, last] = events;
  if (first === undefined || !isFaultKind(first.kind)) throw new Error('a fault of no kind');
  const { fault, kind, targets, step, key, node } = first;
  const details = { kind, step, key, node };
  const to = last?.at ?? Infinity;
  return { fault, targets, ...details, effects: effectsOf(details), from: first.at, to };
}

/**
 * The earliest end of a belief; a process that died or is stopped believes until its lease ends.
 */
function endOf(hold: Hold, death: number): number {
  const lost = hold.lost?.at ?? Infinity;
  const release = hold.release?.invoked ?? Infinity;
  return Math.max(hold.granted, Math.min(hold.unheld, lost, release, hold.until, death));
}
