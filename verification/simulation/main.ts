import './deterministic.js';
import { run } from './run.js';
import { FAULTS } from './faults/kinds.js';
for (let seed = Number(process.argv[2] ?? 1), end = Number(process.argv[3] ?? seed); seed <= end; seed++) {
  const t = performance.now();
  const r = await run({ seed, minutes: Number(process.argv[4] ?? 1), processes: Number(process.argv[5] ?? 6), faults: FAULTS, nodes: Number(process.argv[6] ?? 1) });
  console.log(seed, r.digest.slice(0, 12), r.faults.length, 'faults', r.events.length, 'events', r.steps, 'steps', Math.round(r.lasted/1000), 's virtual', Math.round(performance.now() - t), 'ms', r.violations[0] ?? '');
}
