import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, semaphores } from '../peers/catalog.js';
import { numberText } from '../report/number-text.js';
import type { Measured } from '../report/results.js';
import { atMost, eitherClient } from '../report/verdict.js';
import type { EachKeyTask } from '../workers/each-key.js';
import { casesOf, type Question, tablesOf } from './question.js';

const full: EachKeyTask = { keys: 100_000, limit: 3, width: 1000 };
const quick: EachKeyTask = { keys: 2000, limit: 3, width: 200 };

const scenarioOf = ({ keys, limit, width }: EachKeyTask): string =>
  `${numberText(keys)} keys with limit ${limit}, ${width} at the same time`;

const columns = [
  { head: 'µs a pair', figure: 'usPerPair' },
  { head: 'server µs a pair', figure: 'serverUs' },
  { head: 'bytes an unused key', figure: 'unusedBytes' },
  { head: 'bytes a held key', figure: 'heldBytes' },
];

const compared = semaphores.filter(({ kind, id }) => kind === 'redsem' || id === 'redis-semaphore');

async function measure(stage: Stage, peer: Peer, task: EachKeyTask): Promise<Measured['values']> {
  const worker = await stage.worker(peer);
  const before = await readUsage(stage.server);
  const result = await worker.ask('eachKey', task);
  const usage = usageBetween(before, await readUsage(stage.server), peer);
  return { ...result, serverUs: usage.usec / (2 * task.keys) };
}

export const keys: Question = {
  name: 'keys',
  asks: 'What does a limit for each of 100 000 keys cost one process?',
  notes: [
    'One process takes a permit of each key and gives it back, then takes them all and holds them. redsem by one `KeyedSemaphore`, redis-semaphore by an object for each call. Bytes are of the JavaScript heap after a garbage collection.',
    'Bottleneck is left out: its groups keep a limiter for each key.',
  ],
  rounds: 2,
  cases: (pace) => {
    const task = pace === 'full' ? full : quick;
    return casesOf(compared, scenarioOf(task), (stage, peer) => measure(stage, peer, task));
  },
  tables: tablesOf(compared, columns),
  verdicts: (results) => [
    atMost(
      'bytes that an unused key leaves in the process',
      eitherClient(16, (peer) => results.median(scenarioOf(full), peer, 'unusedBytes')),
    ),
  ],
};
