import { complain, print, printable } from '../output.js';
import { limitText } from '../permits.js';
import type { Looks, Watched } from './seen.js';
import { seenOf } from './seen.js';

/**
 * One line for each semaphore and look, for pipes and log files. Never resolves: a signal ends it.
 */
export function printLines(looks: Looks, name: string | undefined): Promise<never> {
  let said: string | undefined;
  return new Promise((_, reject) => {
    looks.watch(name, () => {
      const { trouble, failed, watched } = seenOf(looks, name);
      if (trouble !== undefined && trouble !== said) complain(trouble);
      said = trouble;
      if (!failed) print(watched.map(textOf).join('')).catch(reject);
    });
  });
}

function textOf({ name, held, waiting, limit, grantsPerSecond }: Watched): string {
  const counts = `held=${held} limit=${limitText(limit)} waiting=${waiting}`;
  const shown = `name=${printable(JSON.stringify(name))}`;
  return `${new Date().toISOString()} ${counts} grants/s=${grantsPerSecond.toFixed(1)} ${shown}\n`;
}
