import type { ChildProcess } from 'node:child_process';

import { spawnOwned, untilExit } from '../../test/support/owned-processes.js';
import type { Answer, Ask, Protocol, Topic } from '../workers/protocol.js';
import type { Build } from '../peers/catalog.js';
import { workerProgram } from './worker-program.js';

/** The parent's side of one worker process. */
export class BenchWorker {
  readonly #child: ChildProcess;
  #output = '';

  constructor(build: Build) {
    this.#child = spawnOwned(process.execPath, [workerProgram(build)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.setMaxListeners(0);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    }
  }

  /** One question of a topic at a time. */
  ask<T extends Topic>(topic: T, data: Protocol[T]['ask']): Promise<Protocol[T]['answer']> {
    return new Promise((resolve, reject) => {
      const onMessage = (answer: Answer<T>): void => {
        if (answer.topic !== topic) return;
        settle();
        if (answer.data === undefined) reject(new Error(answer.problem ?? 'an empty answer'));
        else resolve(answer.data);
      };
      const onClose = (): void => {
        settle();
        reject(new Error(`a worker ended before it answered '${topic}'\n${this.#output}`));
      };
      const settle = (): void => {
        this.#child.off('message', onMessage).off('close', onClose);
      };
      this.#child.on('message', onMessage).on('close', onClose);
      const ask: Ask<T> = { topic, data };
      this.#child.send(ask, (error) => {
        // A worker that is gone says so by its 'close', with what it printed.
        if (error !== null && this.#child.exitCode === null) onClose();
      });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await untilExit(this.#child);
  }
}
