import { fileURLToPath } from 'node:url';

import { afterTest } from '../support/after-test.js';
import { programWithThread } from '../support/program-file.js';
import { startProgram, type WorkerProcess } from '../support/worker-process.js';
import type { HolderArguments } from './holder.js';

const [program = '', thread = ''] = ['holder.ts', '../../src/keeper/worker.ts'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
);

/** It lives until the test ends. */
export function startHolderProgram(args: HolderArguments): WorkerProcess {
  const holder = startProgram(programWithThread(program, thread), args);
  afterTest(() => holder.kill());
  return holder;
}
