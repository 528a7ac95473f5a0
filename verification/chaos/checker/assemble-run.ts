import type {
  FailEvent,
  FaultEvent,
  FinalEvent,
  HistoryEvent,
  InvokeEvent,
  OkEvent,
  RunEvent,
  SeenEvent,
} from '../../history/events.js';
import { effectsOf, isFaultKind } from '../history/fault-kinds.js';
import type { Call, Fault, Header, Hold, RunRecord, Span } from './run-record.js';

/** A history that contradicts itself proves nothing. */
export class MalformedHistoryError extends Error {
  override readonly name = 'MalformedHistoryError';
}

/** Reads events, which must be in order of time, into calls, holds and faults. */
export function assembleRun(events: readonly HistoryEvent[]): RunRecord {
  const reader = new Reader();
  for (const event of events) reader.read(event);
  return reader.finish();
}

class Reader {
  readonly #headers: Header[] = [];
  readonly #calls = new Map<string, Call>();
  readonly #holds = new Map<string, Hold>();
  readonly #faults = new Map<number, FaultEvent[]>();
  readonly #stalls = new Map<string, Span[]>();
  readonly #lastWritten = new Map<string, number>();
  readonly #seen: SeenEvent[] = [];
  #quiet: number | undefined;
  #final: FinalEvent | undefined;
  #end = 0;

  read(event: HistoryEvent): void {
    this.#end = event.at;
    this.#lastWritten.set(event.process, event.at);
    switch (event.type) {
      case 'run':
        this.#headers.push(headerOf(event));
        break;
      case 'invoke':
        this.#readInvoke(event);
        break;
      case 'ok':
      case 'fail':
      case 'unknown': {
        const call = this.#settle(event);
        if (event.type === 'ok') this.#readOk(event, call);
        break;
      }
      case 'held': {
        const hold = this.#hold(event.ticket);
        const { at, until } = event;
        // A handle that is lost does not show how long it was held.
        if (until > at) hold.until = Math.max(hold.until, until);
        else hold.unheld = Math.min(hold.unheld, at);
        break;
      }
      case 'lost':
        this.#hold(event.ticket).lost ??= event;
        break;
      case 'stall':
        appendTo(this.#stalls, event.process, { from: event.from, to: event.until });
        break;
      case 'seen':
        this.#seen.push(event);
        break;
      case 'fault':
        appendTo(this.#faults, event.fault, event);
        break;
      case 'quiet':
        this.#quiet = event.at;
        break;
      case 'final':
        this.#final = event;
        break;
      // Events that only simulations write.
      case 'started':
      case 'served':
      case 'server':
      case 'crash':
        break;
    }
  }

  finish(): RunRecord {
    const [header, another] = this.#headers;
    if (header === undefined || another !== undefined) {
      throw new MalformedHistoryError('expected one run event');
    }
    const faults = [...this.#faults.values()].map(faultOf).toSorted((a, b) => a.from - b.from);
    const deaths = new Map<string, number>();
    for (const { kind, targets = [], from, to } of faults) {
      for (const target of targets) {
        if (kind === 'stop-process') appendTo(this.#stalls, target, { from, to });
        if (kind === 'kill-process') deaths.set(target, from);
      }
    }
    const holds = [...this.#holds.values()];
    for (const hold of holds) hold.end = endOf(hold, deaths.get(hold.process) ?? Infinity);
    return {
      header,
      life: Math.max(header.ttl, header.claim),
      calls: [...this.#calls.values()],
      holds,
      faults,
      stalls: this.#stalls,
      lastWritten: this.#lastWritten,
      end: this.#end,
      quiet: this.#quiet,
      final: this.#final,
      seen: this.#seen,
    };
  }

  #readInvoke({ process, call, operation, at, permits = 1, ticket }: InvokeEvent): void {
    const key = `${process} ${call}`;
    if (this.#calls.has(key)) throw new MalformedHistoryError(`call ${key} is invoked twice`);
    const record: Call = { process, operation, invoked: at, permits, ticket, settled: undefined };
    this.#calls.set(key, record);
    if (operation === 'release') this.#hold(ticket ?? '').release = record;
  }

  #settle({ process, call: number, at, type: outcome }: OkEvent | FailEvent): Call {
    const call = this.#calls.get(`${process} ${number}`);
    if (call === undefined || call.settled !== undefined) {
      const problem = call === undefined ? 'without having begun' : 'twice';
      throw new MalformedHistoryError(`call ${process} ${number} ends ${problem}`);
    }
    call.settled = { at, outcome };
    return call;
  }

  #readOk(ok: OkEvent, call: Call): void {
    if (call.operation === 'release') this.#hold(call.ticket ?? '').released = ok;
    const [ticket] = ok.tickets ?? [];
    if (ticket === undefined) return;
    const { id, slots, token, until } = ticket;
    if (this.#holds.has(id)) throw new MalformedHistoryError(`ticket ${id} is granted twice`);
    const { permits, invoked } = call;
    const grant = { process: ok.process, id, slots, token, permits, invoked, granted: ok.at };
    const certainty = { certain: until, until, end: until };
    const later = { unheld: Infinity, lost: undefined, release: undefined, released: undefined };
    this.#holds.set(id, { ...grant, ...certainty, ...later });
  }

  #hold(id: string): Hold {
    const hold = this.#holds.get(id);
    if (hold === undefined)
      throw new MalformedHistoryError(`no acquire was granted ticket '${id}'`);
    return hold;
  }
}

function appendTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function headerOf({ at, semaphores, claim = 0, recovery = Infinity }: RunEvent): Header {
  const [terms, another] = semaphores;
  if (terms === undefined || another !== undefined) {
    throw new MalformedHistoryError('expected one semaphore');
  }
  return { at, ...terms, claim, recovery };
}

function faultOf(events: readonly FaultEvent[]): Fault {
  const [first] = events;
  if (first?.phase !== 'begin')
    throw new MalformedHistoryError('a fault ends without having begun');
  const { fault, kind, targets, step, key, node } = first;
  if (!isFaultKind(kind)) throw new MalformedHistoryError(`unknown fault '${kind}'`);
  const details = { kind, step, key, node };
  const to = events.find(({ phase }) => phase === 'end')?.at ?? Infinity;
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
