import { WorkerProcess } from '../../test/support/worker-process.js';
import type { Build } from '../peers/catalog.js';
import type { Tasks } from '../workers/worker.js';
import { workerProgram } from './worker-program.js';

/** The parent's side of a worker process. */
export class BenchWorker {
  readonly #process: WorkerProcess;

  constructor(build: Build) {
    this.#process = new WorkerProcess([process.execPath, workerProgram(build)]);
  }

  /** One task of a name at a time. */
  async ask<T extends keyof Tasks>(
    task: T,
    ...[data]: Parameters<Tasks[T]>
  ): Promise<Awaited<ReturnType<Tasks[T]>>> {
    this.#process.send({ type: task, data });
    const answer = await this.#process.next(task);
    return answer.data as Awaited<ReturnType<Tasks[T]>>;
  }

  async kill(): Promise<void> {
    this.#process.kill();
    await this.#process.exited;
  }
}
