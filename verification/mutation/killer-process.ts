import type { ChildProcess } from 'node:child_process';

import { spawnOwned } from '../../test/support/owned-processes.js';
import type { KillerAnswer, KillerOrder } from './killer.js';

/** A process that runs tests in the scratch tree: a new one after each that did not end. */
export class KillerProcess {
  readonly #root: string;
  #child: ChildProcess | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** Undefined: the tests did not end within `limit` milliseconds, or ended the process. */
  ask(order: KillerOrder, limit: number): Promise<KillerAnswer | undefined> {
    const child = (this.#child ??= this.#start());
    return new Promise((resolve) => {
      const settle = (answer: KillerAnswer | undefined): void => {
        clearTimeout(timer);
        child.removeAllListeners('message');
        child.removeAllListeners('exit');
        if (answer === undefined) this.stop();
        resolve(answer);
      };
      const timer = setTimeout(() => settle(undefined), limit);
      child.once('message', (answer) => settle(isAnswer(answer) ? answer : undefined));
      child.once('exit', () => settle(undefined));
      child.send(order);
    });
  }

  /** Servers that its tests started end with it. */
  stop(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  #start(): ChildProcess {
    return spawnOwned(process.execPath, ['--expose-gc', 'verification/mutation/killer.js'], {
      cwd: this.#root,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
  }
}

function isAnswer(message: unknown): message is KillerAnswer {
  return typeof message === 'object' && message !== null && 'tests' in message;
}
