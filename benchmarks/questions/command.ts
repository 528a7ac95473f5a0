import { cpuOf } from '../measure/program-cpu.js';
import type { Stage } from '../measure/stage.js';
import { buildCommand } from '../measure/worker-program.js';
import { type PeerId, programs } from '../peers/catalog.js';
import type { Measured, Results } from '../report/results.js';
import { atMost, ratio, type Verdict } from '../report/verdict.js';
import { type Pace, type Question, tablesOf } from './question.js';

const scenario = 'from the start of the program to its end';

async function measure(stage: Stage, pace: Pace): Promise<Measured[]> {
  const program = await buildCommand();
  const runOf = (client: string): string[] => {
    return [process.execPath, program, 'run', '--client', client, 'bench', '--', 'true'];
  };
  const words: Partial<Record<PeerId, string[]>> = {
    'start-node': [process.execPath, '-e', '0'],
    'start-ioredis': runOf('ioredis'),
    'start-node-redis': runOf('redis'),
  };
  const measured: Measured[] = [];
  for (const { id } of programs) {
    const runs = pace === 'full' ? 10 : 1;
    const cpuMs = await cpuOf(words[id] ?? [], runs, { REDIS_URL: stage.server.url });
    measured.push({ scenario, peer: id, values: { cpuMs } });
  }
  return measured;
}

function verdicts(results: Results): Verdict[] {
  const cpu = (peer: PeerId): number | undefined => results.median(scenario, peer, 'cpuMs');
  const value = ratio(cpu('start-ioredis'), cpu('start-node'));
  return [
    atMost('CPU as a multiple of node -e 0', [
      { label: 'redsem run (ioredis)', value, bound: 2.6 },
    ]),
  ];
}

export const command: Question = {
  name: 'command',
  asks: 'What does it cost to start the command line?',
  notes: [
    '`redsem run bench -- true` on a free semaphore: start, connect, acquire, run, release, end. User and system time, children included; the mean of ten starts in a round.',
    'The command line in one file, as it is in the package. Where both clients are installed, ioredis is taken.',
    'The bar is half of the 5.2 that it took when each module was a file and node-redis the default.',
  ],
  rounds: 5,
  cases: (pace) => [{ label: 'starts', run: (stage) => measure(stage, pace) }],
  tables: tablesOf(programs, [{ head: 'CPU ms', figure: 'cpuMs' }]),
  verdicts,
};
