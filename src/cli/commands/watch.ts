import type { Arguments } from '../arguments.js';
import { signalCode } from '../child/child.js';
import { UsageError } from '../failure.js';
import { type Operator, withOperator } from '../operator.js';
import { complain, print, printable } from '../output.js';
import { limitText } from '../permits.js';
import { FullScreen } from '../watch/full-screen.js';
import { Screen } from '../watch/screen.js';
import { type Looks, seenOf, type Watched } from '../watch/view.js';
import { serverSettings, showUrl } from '../server-options.js';

/** Shorter intervals would only burden the server. */
const SHORTEST_INTERVAL = 500;

export async function watch(args: Arguments): Promise<void> {
  const interval = args.duration('interval') ?? 1000;
  if (interval < SHORTEST_INTERVAL) {
    throw new UsageError(`--interval: expected ${SHORTEST_INTERVAL}ms or more`);
  }
  return withOperator(args, (operator) => watchBy(operator, args, interval));
}

async function watchBy(operator: Operator, args: Arguments, interval: number): Promise<void> {
  const [name] = args.positionals;
  // A wrong name is an error at once, and not a line on the screen in every look.
  await (name === undefined ? operator.names() : operator.inspect(name));
  const looks = operator.sampler(interval);
  if (!process.stdout.isTTY || process.env['TERM'] === 'dumb') return printLines(looks, name);
  // The exit restores the terminal; a signal alone would not.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(signalCode(signal)));
  }
  const server = showUrl(serverSettings(args).addresses[0]);
  return new FullScreen(operator, looks, new Screen(), { interval, server }).run(name);
}

/**
 * A line for each semaphore and look, for pipes and log files. Never resolves: a signal ends it.
 */
function printLines(looks: Looks, name: string | undefined): Promise<never> {
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
