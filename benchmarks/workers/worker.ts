// A process of a benchmark. It does the tasks that its parent sends, and ends with its parent.
import { onMessage, report } from '../../test/support/worker-side.js';
import type { Connection } from '../peers/adapter.js';
import { type PeerId, peerOf } from '../peers/catalog.js';
import { type ContendTask, Contention } from './contention.js';
import { type CrowdTask, runCrowd } from './crowd.js';
import { type EachKeyTask, runEachKey } from './each-key.js';
import { HandOffs } from './hand-offs.js';
import { Holding, type HoldTask } from './holding.js';
import { machineTime } from '../../verification/history/machine-time.js';
import { type PairsTask, runPairs } from './pairs.js';
import { Rotation, type RotationTask } from './rotation.js';
import { type RoundsTask, runKeyRounds, runRounds } from './rounds.js';

let opened: Connection | undefined;

function connection(): Connection {
  if (opened === undefined) throw new Error('not connected yet');
  return opened;
}

const contention = new Contention();
const handOffs = new HandOffs();
const holding = new Holding();
const rotation = new Rotation();

/** Times are the machine's monotonic clock. */
const tasks = {
  /** Loads a peer and connects it; comes first. */
  connect: async ({ peer, url }: { peer: PeerId; url: string }): Promise<void> => {
    const adapter = await peerOf(peer).load();
    opened = await adapter.connect(url);
  },
  /** Acquires and releases in a number of loops at once. */
  pairs: (task: PairsTask) => runPairs(connection(), task),
  /** All callers acquire in one turn of the event loop, then all release in one turn; repeated. */
  rounds: (task: RoundsTask) => runRounds(connection(), task),
  /** Takes a permit and gives the oldest back; repeated. */
  rotate: (task: RotationTask) => rotation.run(connection(), task),
  /** Acquires all keys at once, all or none, and releases them; repeated. */
  keyRounds: ({ keys, rounds }: { keys: readonly string[]; rounds: number }) =>
    runKeyRounds(connection(), keys, rounds),
  /** Takes a permit of each key and gives it back, then takes all and keeps them. */
  eachKey: (task: EachKeyTask) => runEachKey(connection(), task),
  /**
   * A caller holds the only permit and another waits; each release grants, and a further caller
   * queues.
   */
  handOffs: ({ name, count }: { name: string; count: number }) =>
    handOffs.run(connection(), name, count),
  /** Starts callers that contend until the process ends. */
  contend: (task: ContendTask) => contention.start(connection(), task),
  /** The records of these callers so far. */
  records: () => contention.records,
  /** The number of permits that these callers got so far. */
  tally: () => contention.granted,
  /** Takes permits and keeps them. */
  hold: (task: HoldTask) => holding.take(connection(), task),
  /** Releases these permits; reports how many had been lost. */
  letGo: () => holding.letGo(),
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
  /**
   * Lets a crowd wait, and takes many permits at once; reports how long the event loop was blocked.
   */
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
