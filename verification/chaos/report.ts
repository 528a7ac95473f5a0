import type { HistoryEvent, Violation } from '../history/events.js';
import { markdownTable } from '../support/markdown-table.js';

/** How many violations are listed. */
const SHOWN = 50;

/** A page of Markdown. */
export function reportOf(
  events: readonly HistoryEvent[],
  violations: readonly Violation[],
): string {
  const start = events[0]?.at ?? 0;
  const rows = violations
    .slice(0, SHOWN)
    .map(({ rule, at, message }) => [((at - start) / 1000).toFixed(3), rule, message]);
  return [
    rows.length === 0 ? '## Every promise was kept' : `## Violations: ${violations.length}`,
    ...(rows.length === 0 ? [] : [markdownTable(['seconds', 'rule', 'what'], rows)]),
    markdownTable(['', ''], figuresOf(events)),
  ].join('\n\n');
}

function figuresOf(events: readonly HistoryEvent[]) {
  const of = <T extends HistoryEvent['type']>(type: T) =>
    events.filter((event): event is Extract<HistoryEvent, { readonly type: T }> => {
      return event.type === type;
    });
  const calls = of('invoke');
  const ended = [...of('ok'), ...of('fail'), ...of('unknown')];
  const ends = new Map(ended.map(({ process, call, type }) => [`${process} ${call}`, type]));
  const outcomes = calls.map(({ process, call, operation }) => {
    return `${operation} ${ends.get(`${process} ${call}`) ?? 'cut short'}`;
  });
  const begun = of('fault').filter(({ phase }) => phase === 'begin');
  return [
    ['length', `${(((events.at(-1)?.at ?? 0) - (events[0]?.at ?? 0)) / 1000).toFixed(1)} s`],
    ['processes', String(new Set(calls.map(({ process }) => process)).size)],
    ['permits granted', String(of('ok').flatMap(({ tickets = [] }) => tickets).length)],
    ['calls', counted(outcomes)],
    ['losses that holders saw', counted(of('lost').map(({ reason }) => reason))],
    ['reads of the server', String(of('seen').length)],
    ['faults', counted(begun.map(({ kind }) => kind))],
  ];
}

/** How often there is each, the most frequent first. */
function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].toSorted(([, a], [, b]) => b - a);
  return parts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none';
}
