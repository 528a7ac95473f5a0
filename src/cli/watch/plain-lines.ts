import { setTimeout as sleep } from 'node:timers/promises';
import { complain, print, printable } from '../output.js';
import type { Watched } from './view.js';
import type { Watcher } from './watcher.js';

/**
 * One line for each semaphore and look, for pipes and log files. Never resolves: a signal ends it.
 */
export async function printLines(
  watcher: Watcher,
  name: string | undefined,
  interval: number,
): Promise<never> {
  let told: string | undefined;
  for (;;) {
    const isNew = await watcher.look(name);
    const { trouble } = watcher;
    if (trouble !== undefined && trouble !== told) complain(trouble);
    told = trouble;
    if (isNew) await print(watcher.watched.map(lineOf).join(''));
    await sleep(interval);
  }
}

function lineOf({ summary, history }: Watched): string {
  const rate = history.grantRate(performance.now()).toFixed(1);
  const { name, held, waiting, limit } = summary;
  const counts = `held=${held} limit=${limit ?? '?'} waiting=${waiting} grants/s=${rate}`;
  return `${new Date().toISOString()} ${counts} name=${printable(JSON.stringify(name))}\n`;
}
