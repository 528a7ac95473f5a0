// One process of a benchmark. It answers what its parent asks, and ends with it.
import type { Connection } from '../peers/adapter.js';
import { peerOf } from '../peers/catalog.js';
import { answering } from './answering.js';
import { Contention } from './contention.js';
import { runCrowd } from './crowd.js';
import { runEachKey } from './each-key.js';
import { HandOffs } from './hand-offs.js';
import { Holding } from './holding.js';
import { monotonicMs } from './monotonic.js';
import { runPairs } from './pairs.js';
import { runKeyRounds, runRounds } from './rounds.js';

let opened: Connection | undefined;

function connection(): Connection {
  if (opened === undefined) throw new Error('not connected yet');
  return opened;
}

const contention = new Contention();
const handOffs = new HandOffs();
const holding = new Holding();

answering('connect', async ({ peer, url }) => {
  const adapter = await peerOf(peer).load();
  opened = await adapter.connect(url);
  return null;
});
answering('pairs', (task) => runPairs(connection(), task));
answering('rounds', (task) => runRounds(connection(), task));
answering('keyRounds', (task) => runKeyRounds(connection(), task));
answering('eachKey', (task) => runEachKey(connection(), task));
answering('handOffs', (task) => handOffs.run(connection(), task));
answering('contend', (task) => contention.start(connection(), task));
answering('records', () => contention.records);
answering('tally', () => contention.granted);
answering('hold', (task) => holding.take(connection(), task));
answering('letGo', () => holding.letGo());
answering('await', ({ names, ttl }) =>
  Promise.all(
    names.map(async (name) => {
      const release = await connection().acquire(name, 1, ttl);
      const at = monotonicMs();
      await release();
      return at;
    }),
  ),
);
answering('crowd', (task) => runCrowd(connection(), task));
answering('cpu', () => {
  const { user, system } = process.cpuUsage();
  return user + system;
});

process.on('disconnect', () => process.exit());
