// A process of a benchmark. It does the tasks that its parent sends, and ends with its parent.
import { onMessage, report } from '../../test/support/worker-side.js';
import type { Connection } from '../peers/adapter.js';
import { type Peer, peerOf } from '../peers/catalog.js';
import { contend, type ContendTask, records, tally } from './contention.js';
import { type CrowdTask, runCrowd } from './crowd.js';
import { type EachKeyTask, runEachKey } from './each-key.js';
import { handOff } from './hand-offs.js';
import { hold, type HoldTask, letGo } from './holding.js';
import { machineTime } from '../../verification/history/machine-time.js';
import { type PairsTask, runPairs } from './pairs.js';
import { rotate, type RotationTask } from './rotation.js';
import { type RoundsTask, runKeyRounds, runRounds } from './rounds.js';

let opened: Connection | undefined;

function connection(): Connection {
  if (opened === undefined) throw new Error('not connected yet');
  return opened;
}

/** Times are the machine's monotonic clock. */
const tasks = {
  /** Loads a peer and connects it; comes first. */
  connect: async ({ peer, url }: { peer: Peer['id']; url: string }): Promise<void> => {
    const adapter = await peerOf(peer).load();
    opened = await adapter.connect(url);
  },
  pairs: (task: PairsTask) => runPairs(connection(), task),
  rounds: (task: RoundsTask) => runRounds(connection(), task),
  rotate: (task: RotationTask) => rotate(connection(), task),
  keyRounds: ({ keys, rounds }: { keys: readonly string[]; rounds: number }) =>
    runKeyRounds(connection(), keys, rounds),
  eachKey: (task: EachKeyTask) => runEachKey(connection(), task),
  handOffs: ({ name, count }: { name: string; count: number }) =>
    handOff(connection(), name, count),
  contend: (task: ContendTask) => contend(connection(), task),
  records: () => records,
  tally,
  hold: (task: HoldTask) => hold(connection(), task),
  letGo,
  /** Waits for a permit of each name; reports the time of each grant, in ms. */
  await: ({ names, ttl }: { names: readonly string[]; ttl: number }) =>
    Promise.all(
      names.map(async (name) => {
        const release = await connection().acquire(name, 1, ttl);
        const at = machineTime();
        await release();
        return at;
      }),
    ),
  crowd: (task: CrowdTask) => runCrowd(connection(), task),
  /** CPU time of the process so far, in microseconds. */
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
};

export type Tasks = typeof tasks;

process.setMaxListeners(Object.keys(tasks).length);
for (const [name, run] of Object.entries(tasks)) {
  onMessage(name, (data) => {
    const answer: unknown = Reflect.apply(run, undefined, [data]);
    // A task that fails ends the process; its parent then reports its output.
    void Promise.resolve(answer).then((value) => report(name, value));
  });
}
