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
    case 'served':
      return mentions(event, ids) ? served(event, ids) : undefined;
    case 'ok':
      return mentions(event, ids)
        ? `call ${event.call} has ${JSON.stringify(event.tickets ?? event.result)}`
        : undefined;
    case 'held':
      return ids.has(event.ticket)
        ? `${event.ticket} is certain until ${time(event.until).trim()}`
        : undefined;
    case 'lost':
      return ids.has(event.ticket) ? `${event.ticket} is lost: ${event.reason}` : undefined;
    case 'invoke':
      return mentions(event, ids)
        ? `call ${event.call}: ${event.operation} ${event.ticket ?? ''}`
        : undefined;
    case 'crash':
      return event.error;
    case 'quiet':
      return 'no fault from here on';
    default:
      return undefined;
  }
}

function mentions(event: HistoryEvent, ids: ReadonlySet<string>): boolean {
  const text = JSON.stringify(event);
  return [...ids].some((id) => text.includes(`"${id}"`));
}

function served(
  {
    operation,
    semaphore,
    client,
    requests = [],
    tickets = [],
    grants,
  }: HistoryEvent & { type: 'served' },
  ids: ReadonlySet<string>,
): string {
  const parts = [
    ...requests
      .filter(({ id }) => ids.has(id))
      .map(
        ({ id, verdict, token, slots }) => `${id} ${verdict} ${token ?? ''} ${slots?.join() ?? ''}`,
      ),
    ...tickets
      .filter(({ id }) => ids.has(id))
      .map(({ id, there }) => `${id} ${there ? 'there' : 'gone'}`),
    ...grants
      .filter(({ id }) => ids.has(id))
      .map(({ id, token, slots }) => `grants ${id} token ${token} slots ${slots.join()}`),
  ];
  return `${operation} of ${semaphore} for ${client}: ${parts.join('; ')}`;
}
