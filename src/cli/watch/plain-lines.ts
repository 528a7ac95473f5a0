import { limitText } from '../limit-text.js';
import { complain, print, printable } from '../output.js';
import type { Watched } from './view.js';
import type { Watcher } from './watcher.js';

/**
 * One line for each semaphore and look, for pipes and log files. Never resolves: a signal ends it.
 */
export function printLines(watcher: Watcher, name: string | undefined): Promise<never> {
  let said: string | undefined;
  return new Promise((_, reject) => {
    watcher.follow(name, () => {
      const { trouble } = watcher;
      if (trouble !== undefined && trouble !== said) complain(trouble);
      said = trouble;
      if (watcher.failed) return;
      print(watcher.watched.map(textOf).join('')).catch(reject);
    });
  });
}

function textOf({ summary, rate }: Watched): string {
  const { name, held, waiting, limit } = summary;
  const counts = `held=${held} limit=${limitText(limit)} waiting=${waiting} grants/s=${rate.toFixed(1)}`;
  return `${new Date().toISOString()} ${counts} name=${printable(JSON.stringify(name))}\n`;
}
