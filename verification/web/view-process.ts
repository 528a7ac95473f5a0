import type { ChildProcess } from 'node:child_process';

import { eventually } from '../../test/support/eventually.js';
import { spawnOwned, untilExit } from '../../test/support/owned-processes.js';
import { sourcesOf } from '../../test/support/program-file.js';
import { ROOT } from '../../test/tooling/run-program.js';

/** From source: it builds the page when it starts, which a bundled program could not. */
const PROGRAM = sourcesOf('src/cli/main.ts');

/** The token of every view here. */
export const TOKEN = 'a-token-of-the-tests-0123456789';

/** `redsem web` as a separate process, on one port for all its lives. */
export class ViewProcess {
  readonly address: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(port: number, redisUrl: string, ...args: readonly string[]) {
    this.address = `http://127.0.0.1:${port}/`;
    const place = ['--listen', `127.0.0.1:${port}`, '--url', redisUrl, '--token', TOKEN];
    this.#args = [...PROGRAM, 'web', ...place, ...args];
  }

  async start(): Promise<void> {
    const child = spawnOwned(process.execPath, this.#args, {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.#child = child;
    const ended = untilExit(child).then(() => {
      throw new Error(`redsem web exited with ${child.exitCode}`);
    });
    const serves = eventually(
      async () => (await fetch(this.address)).ok,
      'redsem web serves its page',
    );
    await Promise.race([serves, ended]);
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    if (this.#child !== undefined) await untilExit(this.#child);
  }
}
