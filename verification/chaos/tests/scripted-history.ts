import type { FaultEvent, HistoryEvent, RunEvent } from '../../history/events.js';
import { inOrder } from '../../history/read-history.js';

/** Milliseconds between two extensions of a made-up holder. */
const EXTEND_EVERY = 300;
const NAME = 'made up';

/**
 * A history as processes would have written it, from one statement for each thing that happened.
 * Times are milliseconds; the limit is 2 and the ttl 1000, and calls succeed, unless a line says
 * otherwise.
 *
 *     limit=1                       of the run
 *     w1 100-400                    is granted slot 0 at 100, and releases it at 400
 *     w2/0,1 90 100- token=7        had asked for both slots at 90; never releases them
 *       extended=2000               extends until then; default: its release
 *       reads=800-1100,1200         reads its handle: certain until 1100; no longer held
 *       lost=missing@400            hears of the loss
 *     w1 asks 100-610               a request gets nothing; timeout=500 ends=unknown: an error
 *     !stop-process 200-2990 w1     a fault from 200 to 2990, which strikes w1
 *     seen 300 holds=a.1/0/550      the server has this ticket (slot, token)
 *     quiet 1000; final 1000 held=1 waiting=0 keys=info,tickets
 */
export function scriptedHistory(text: string): HistoryEvent[] {
  const statements = text.split(';').map(parse);
  const { option = () => undefined } = statements.find(({ words }) => words.length === 0) ?? {};
  const header: RunEvent = {
    type: 'run',
    at: 0,
    process: 'nemesis',
    semaphores: [{ name: NAME, limit: Number(option('limit') ?? 2), ttl: 1000 }],
    nodes: 1,
    claim: 1000,
    recovery: 5000,
  };
  // Each numbers its calls separately.
  return inOrder([header, ...statements.flatMap((one, nth) => eventsOf(one, 2 * nth))]);
}

interface Statement {
  /** The words of a line that are no options. */
  readonly words: readonly string[];
  readonly option: (name: string) => string | undefined;
}

function parse(text: string): Statement {
  const words = text.trim().split(/\s+/);
  const options = new Map(words.map((word) => word.split('=') as [string, string]));
  return {
    words: words.filter((word) => word !== '' && !word.includes('=')),
    option: (name) => options.get(name),
  };
}

function eventsOf(statement: Statement, call: number): HistoryEvent[] {
  const { words, option } = statement;
  const [subject = '', what = '', third = ''] = words;
  const [process, at] = ['nemesis', span(what)[0]];
  if (words.length === 0) return [];
  if (subject.startsWith('!')) return faultOf(statement, call);
  if (subject === 'quiet') return [{ type: 'quiet', at, process }];
  if (subject === 'final') {
    const [held, waiting] = [Number(option('held') ?? 0), Number(option('waiting') ?? 0)];
    return [{ type: 'final', at, process, held, waiting, keys: list(option('keys')) }];
  }
  if (subject === 'seen') {
    const holders = list(option('holds')).map((ticket) => {
      const [id = '', slot, token = 1] = ticket.split('/');
      return { id, slots: [Number(slot)], token: Number(token) };
    });
    return [{ type: 'seen', at, process, asked: at - 1, holders }];
  }
  if (what !== 'asks') return holdOf(statement, call);
  const [from, to] = span(third);
  const asked = { process: subject, call };
  const timeout = Number(option('timeout') ?? Infinity);
  return [
    { ...asked, type: 'invoke', operation: 'acquire', semaphores: [NAME], at: from, timeout },
    { ...asked, type: option('ends') === 'unknown' ? 'unknown' : 'fail', at: to, error: 'made up' },
  ];
}

/** A fault that is there from its begin to its end; nothing else takes time. */
function faultOf({ words, option }: Statement, fault: number): HistoryEvent[] {
  const [kind = '', when = '', targets] = words;
  const [from, to] = span(when);
  const [step, node] = [option('step'), option('node')];
  const shared = {
    type: 'fault',
    process: 'nemesis',
    fault,
    kind: kind.slice(1),
    targets: targets?.split(','),
    key: option('key'),
    step: step && Number(step),
    node: node && Number(node),
  };
  return (['begin', 'end'] as const).map(
    (phase) => ({ ...shared, at: phase === 'begin' ? from : to, phase }) as FaultEvent,
  );
}

/** An acquire, extensions, and a release. */
function holdOf({ words, option }: Statement, call: number): HistoryEvent[] {
  const [process = '', slots = '0'] = words[0]?.split('/') ?? [];
  const [from, to] = span(words.at(-1) ?? '');
  const at = words.length > 2 ? Number(words[1]) : from - 5;
  const id = option('id') ?? `${process}.${from}`;
  const token = Number(option('token') ?? from);
  const until = Number(option('until') ?? from + 1000);
  const ticket = { semaphore: NAME, id, slots: list(slots).map(Number), token, until };
  const permits = Number(option('permits') ?? ticket.slots.length);
  const extended = Number(option('extended') ?? Math.max(from, to));
  const semaphores = [NAME];
  const held = { type: 'held', process, ticket: id, token } as const;
  const acquire = { operation: 'acquire', semaphores, timeout: 60_000, permits } as const;
  const events: HistoryEvent[] = [
    { type: 'invoke', at, process, call, ...acquire },
    { type: 'ok', at: from, process, call, tickets: [ticket] },
  ];
  for (let next = from + EXTEND_EVERY; next < extended; next += EXTEND_EVERY) {
    events.push({ ...held, at: next, until: next + 1000 });
  }
  for (const reading of list(option('reads'))) {
    const [seen, certain] = span(reading);
    events.push({ ...held, at: seen, until: certain });
  }
  for (const loss of list(option('lost'))) {
    const [reason = '', when] = loss.split('@');
    events.push({ type: 'lost', at: Number(when), process, ticket: id, token, reason });
  }
  if (to === 0) return events;
  const release = { process, call: call + 1 };
  return [
    ...events,
    { ...release, type: 'invoke', at: to, operation: 'release', semaphores, ticket: id },
    { ...release, type: 'ok', at: to + 1, result: option('released') !== 'no' },
  ];
}

function list(text: string | undefined): string[] {
  return text?.split(',') ?? [];
}

/** `100` is from 100 to 100; `100-` ends at 0, which is never. */
function span(text: string): [number, number] {
  const [from = 0, to = from] = text.split('-').map(Number);
  return [from, to];
}
