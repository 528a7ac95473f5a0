import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import threads from 'node:worker_threads';

import { programOf } from '../support/program-file.js';

const WORKER = new URL('../../src/keeper/worker', import.meta.url).href;

/**
 * Starts the thread of a keeper from one built file: a thread that compiles for itself takes a
 * second of processor time. Any other thread starts as usual.
 */
class BuiltWorker extends threads.Worker {
  constructor(file: URL, options: threads.WorkerOptions) {
    const words = file.href === `${WORKER}.js` ? programOf(fileURLToPath(`${WORKER}.ts`)) : [];
    const [built] = words.length === 1 ? words : [];
    if (built === undefined) super(file, options);
    else super(pathToFileURL(built), { ...options, execArgv: [] });
  }
}

threads.Worker = BuiltWorker;
syncBuiltinESMExports();
