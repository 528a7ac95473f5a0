import { fileURLToPath } from 'node:url';

import { programWithThread } from '../support/program-file.js';
import { startProgram, type WorkerProcess } from '../support/worker-process.js';
import type { HolderArguments } from './holder.js';

const [program = '', thread = ''] = ['holder.ts', '../../src/keeper/worker.ts'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
);

export function startHolderProgram(args: HolderArguments): WorkerProcess {
  return startProgram(programWithThread(program, thread), args);
}
