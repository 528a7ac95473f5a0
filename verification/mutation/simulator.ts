import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MUTANT_SWITCH } from './mutant-switch.js';

const execute = promisify(execFile);

/** What `npm test` simulates, in part: see test/simulation. */
const COMMANDS: readonly string[] = [
  '--nodes 1 --processes 4 --seed 1 --seeds 150 --minutes 0.1 --pace 0.4',
  '--nodes 3 --processes 3 --seed 1 --seeds 20 --minutes 0.1 --pace 0.4',
  '--groups --processes 5 --minutes 0.5 --seed 1 --seeds 20',
];

/** Several times what each takes, in milliseconds. */
const PATIENCE = 90_000;

/** The command of the simulator that fails with that mutant on, if one does. */
export async function simulatorNotices(root: string, id: number): Promise<string | undefined> {
  const preload = `data:text/javascript,globalThis.${MUTANT_SWITCH}=(id)=>id===${id}`;
  for (const command of COMMANDS) {
    const program = ['--import', preload, 'verification/simulation/main.js', '--no-shrink'];
    const words = [...program, '--quiet', ...command.split(' ')];
    const options = {
      cwd: root,
      timeout: PATIENCE,
      killSignal: 'SIGKILL',
      maxBuffer: 1 << 26,
    } as const;
    try {
      await execute(process.execPath, words, options);
    } catch {
      return `simulate ${command}`;
    }
  }
  return undefined;
}
