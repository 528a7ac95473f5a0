import { embedded, semaphores } from '../peers/catalog.js';
import { numberText } from '../report/number-text.js';
import { atMost } from '../report/verdict.js';
import type { CrowdTask } from '../workers/crowd.js';
import { casesOf, type Question, tablesOf } from './question.js';

const full: CrowdTask = { waiters: 50_000, limit: 100, permits: 1_000_000, ms: 3000 };
const quick: CrowdTask = { waiters: 2000, limit: 100, permits: 10_000, ms: 150 };

const scenarioOf = ({ waiters, limit, permits }: CrowdTask): string =>
  `${numberText(waiters)} waiters for ${limit} permits, then a ticket of ${numberText(permits)}`;

const columns = [
  { head: 'queueing', figure: 'queueing' },
  { head: 'waiting', figure: 'waiting' },
  { head: 'permits go round', figure: 'handingOn' },
  { head: 'many permits taken', figure: 'taking' },
  { head: 'given back', figure: 'givingBack' },
];

const compared = [embedded, ...semaphores.filter(({ kind }) => kind === 'redsem')];

export const crowd: Question = {
  name: 'crowd',
  asks: 'For how long is the event loop blocked with many waiters in one process, and with many permits in one ticket?',
  notes: [
    'The longest delay of a timer, in milliseconds, while the waiters come (1000 in each turn of the event loop), while all of them wait, while each in turn gets a permit and gives it back, and while one ticket of another semaphore takes and gives back that many permits at once.',
    'With Redis the server has its share of the work in a separate process; in memory all of it is in this one.',
  ],
  rounds: 2,
  cases: (pace) => {
    const task = pace === 'full' ? full : quick;
    return casesOf(compared, scenarioOf(task), async (stage, peer) => {
      const worker = await stage.worker(peer);
      return { ...(await worker.ask('crowd', task)) };
    });
  },
  tables: tablesOf(compared, columns),
  verdicts: (results) => [
    atMost(
      'in memory: longest block of the event loop in ms',
      columns.map(({ head, figure }) => ({
        label: head,
        value: results.median(scenarioOf(full), embedded.id, figure),
        bound: 100,
      })),
    ),
  ],
};
