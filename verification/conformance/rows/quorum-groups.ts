import type { CaseGroup } from '../../../test/conformance/case-group.js';

/** Groups about what a quorum does not offer: `setLimit`, `adopt` and `revoke`, and a note of stripes. */
const NOT_OFFERED: readonly string[] = [
  'a live limit',
  'hand-over',
  'revocation',
  'keyed mutexes with different stripes',
];

/**
 * Cases that look into the queue, or about its order, by group: on a quorum requests that wait ask again and
 * again, in no order, and only their own process knows of them. And cases that set a limit on the way.
 */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  'acquire and tryAcquire': [
    'waits, and gets the permit when it is released [RS 31, RL4 5]',
    'waits without a limit by default, and for longer than a timer can [RS 10]',
  ],
  waiting: [
    'serves in the order of arrival [P3, M 13, RD 23]',
    'serves in the order of arrival over two processes [P3]',
    'serves several waiters at once when several permits come free [AM, RD 15]',
    'serves one waiter for one permit',
    'lets no tryAcquire pass by those who wait [P3]',
    'lets no tryAcquire take what a release just gave to a waiter [P3]',
    'passes over a waiter that gave up [P3, RD 23]',
    'goes on with those behind when a large request at the head gives up [P3, RS#28]',
    'waits by polling alone where no push arrives [P9]',
  ],
  'an aborted wait': [
    'rejects with the very reason of the signal, an error or not [RS 9, M 11]',
    'rejects with the standard reasons [SG]',
    'leaves nothing: the permit goes to the next [RS 9, P4]',
    'gets either the permit or its reason when a release crosses it [P4]',
    'does not run the function of `use`',
    'takes its listener off a shared signal, however it ends',
    'warns of no leak when 20 wait on one signal at a time',
  ],
  'permits and slots': [
    'does not let small requests starve a large one at the head [P3, AM]',
    'lets a holder of one wait for two until its own is free, too [RD 15]',
  ],
  'fencing tokens': ['rise from holder to waiter, over processes [P2, O 4]'],
  tryUse: ['does not overtake those who wait [P3]'],
  'a ticket that is gone': ['ends the wait of those who stood behind it [M 17]'],
  close: [
    'rejects those who wait, and leaves nothing of them [AM, RD 13, P8]',
    'leaves alone those who wait on another semaphore of the same client and name',
    'lets the next one in that waits elsewhere [P7]',
  ],
  inspect: [
    'tells who waits, in what order [RL#56, AS]',
    'tells the label of those who wait in other processes',
    'tells the limit that is stored for all, with more held than it allows',
  ],
  'processes with different limits': [
    'are told when they wait for each other, too',
    'are told nothing once a limit is stored',
  ],
  'many semaphore objects': ['wait for each other in one queue [P3]'],
  'a keyed mutex': [
    'gives the earlier keys back at once when a later one does not come free',
    'gives the earlier keys back at once when the wait is aborted',
    'holds nothing behind the key that it waits for',
    'orders keys by their bytes, whatever JavaScript thinks',
    'releases its handles and rejects its waiters when it is closed',
  ],
  'a mutex': ['keeps its limit'],
  acquireAll: [
    'asks two objects for one semaphore as one, too, as soon as they get into each other’s way',
    'gives back what it took at once, when one does not come free or the wait is aborted',
  ],
};

/** What is left for a quorum. Throws when something is left out that no longer exists. */
export function quorumGroups(groups: readonly CaseGroup[]): CaseGroup[] {
  const titles = groups.map(({ title }) => title);
  const unknown = [...NOT_OFFERED, ...Object.keys(LEFT_OUT)].filter((t) => !titles.includes(t));
  if (unknown.length > 0) throw new Error(`there are no groups ${unknown.join(', ')}`);
  return groups
    .filter(({ title }) => !NOT_OFFERED.includes(title))
    .map((group) => ({ ...group, cases: without(group.cases, LEFT_OUT[group.title] ?? []) }));
}

function without(cases: CaseGroup['cases'], titles: readonly string[]): CaseGroup['cases'] {
  const unknown = titles.filter((title) => cases[title] === undefined);
  if (unknown.length > 0) throw new Error(`there are no cases ${unknown.join(', ')}`);
  return Object.fromEntries(Object.entries(cases).filter(([title]) => !titles.includes(title)));
}
