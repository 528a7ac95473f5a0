import type { HistoryEvent } from '../history/events.js';
import type { RunResult } from './run.js';

/** Lines at most. */
const LINES = 60;

const TICKET = /[\w-]{12}\.[0-9a-z]+[\w.~-]*/g;

/**
 * What led to the first broken promise, for people: faults, and all that has to do with the tickets
 * that it names.
 */
export function timelineOf({ events, violations }: RunResult): string[] {
  const [violation] = violations;
  if (violation === undefined) return [];
  const ids = new Set([...violation.message.matchAll(TICKET)].map(([id]) => id));
  const lines = events.flatMap((event) => {
    const line = describe(event, ids);
    return line === undefined ? [] : `${time(event.at)}  ${event.process.padEnd(7)} ${line}`;
  });
  const shown = lines.slice(-LINES);
  const cut = lines.length > shown.length ? [`… ${lines.length - shown.length} lines before`] : [];
  return [...cut, ...shown, `${time(violation.at)}  ${violation.rule}: ${violation.message}`];
}

function time(at: number): string {
  return `${(at / 1000).toFixed(4).padStart(10)} s`;
}

function describe(event: HistoryEvent, ids: ReadonlySet<string>): string | undefined {
  switch (event.type) {
    case 'fault':
      return `${event.phase} of ${event.kind} ${(event.targets ?? [event.semaphore]).join()}`;
    case 'server':
      return `the server's data: ${event.change} ${event.step ?? event.upTo ?? ''}`;
    case 'stall':
      return `is stopped until ${time(event.until).trim()}`;
    case 'crash':
      return event.error;
    case 'quiet':
      return 'no fault from here on';
    default:
      return mentions(event, ids) ? tell(event, ids) : undefined;
  }
}

function mentions(event: HistoryEvent, ids: ReadonlySet<string>): boolean {
  const text = JSON.stringify(event);
  return [...ids].some((id) => text.includes(`"${id}"`));
}

function tell(event: HistoryEvent, ids: ReadonlySet<string>): string | undefined {
  switch (event.type) {
    case 'served':
      return served(event, ids);
    case 'ok':
      return `call ${event.call} has ${JSON.stringify(event.tickets ?? event.result)}`;
    case 'held':
      return `${event.ticket} is certain until ${time(event.until).trim()}`;
    case 'lost':
      return `${event.ticket} is lost: ${event.reason}`;
    case 'invoke':
      return `call ${event.call}: ${event.operation} ${event.ticket ?? ''}`;
    default:
      return undefined;
  }
}

function served(event: HistoryEvent & { type: 'served' }, ids: ReadonlySet<string>): string {
  const { operation, semaphore, client, requests = [], tickets = [], grants } = event;
  const named = <T extends { readonly id: string }>(list: readonly T[]): T[] =>
    list.filter(({ id }) => ids.has(id));
  const parts = [
    ...named(requests).map(
      ({ id, verdict, token, slots }) => `${id} ${verdict} ${token ?? ''} ${slots?.join() ?? ''}`,
    ),
    ...named(tickets).map(({ id, there }) => `${id} ${there ? 'there' : 'gone'}`),
    ...named(grants).map(
      ({ id, token, slots }) => `grants ${id} token ${token} slots ${slots.join()}`,
    ),
  ];
  return `${operation} of ${semaphore} for ${client}: ${parts.join('; ')}`;
}
