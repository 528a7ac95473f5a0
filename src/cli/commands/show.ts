import type { Arguments, Command } from '../arguments.js';
import { type Operator, withOperator } from '../operator.js';
import { jsonText, print, printable } from '../output.js';
import { overviewLines, summaryLines } from '../status-table.js';
import { hasColors, type Line, painted, plainText } from '../style.js';

export const statusCommand: Command = {
  synopsis: '[OPTION…] [NAME]',
  summary: 'show holders and waiters',
  description: `
Shows the held permits of a semaphore, their holders and the waiters. Without NAME: a line
for each semaphore that was in use within the last day.

The limit is that of "redsem limit" or setLimit, else that of the last process which asked
for a permit; without one it is shown as unknown (null in JSON). Keys that another program has written may not be
readable: without NAME such a semaphore has a line that says why (name and error in JSON).`,
  options: {
    '--json': 'print JSON: an object, without NAME an array of them; times in ms',
  },
  examples: {
    'redsem status deploys': 'a table of holders and waiters',
    "redsem status --json deploys | jq '.holders[].label'": 'the same for programs',
  },
  arguments: [0, 1],
  run: (args) => withOperator(args, (operator) => status(operator, args)),
};

async function status(operator: Operator, args: Arguments): Promise<void> {
  const [name] = args.positionals;
  const columns = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const json = args.flag('json');
  if (name === undefined) {
    const all = await operator.inspectAll(await operator.names());
    return print(json ? jsonText(all) : text(overviewLines(all, columns)));
  }
  const summary = await operator.inspect(name);
  return print(json ? jsonText(summary) : text(summaryLines(summary, columns)));
}

/** A pipe gets no escape sequences, unless colors are forced. */
function text(lines: readonly Line[]): string {
  const { isTTY } = process.stdout;
  const colors = hasColors(isTTY);
  const isPlain = !colors && (!isTTY || process.env['TERM'] === 'dumb');
  return lines.map((line) => `${isPlain ? plainText(line) : painted(line, colors)}\n`).join('');
}

export const listCommand: Command = {
  synopsis: '[OPTION…]',
  summary: 'list the semaphores',
  description: `
Lists the names of all semaphores that were in use within the last day, one per line. It goes through
the keys of the server by SCAN: nothing is blocked, but a large database takes its time.

A name may hold anything: control characters are printed as \\u escapes. Use --json or --null in programs.`,
  options: {
    '--json': 'print a JSON array',
    '-0, --null': 'print each name as it is and end it with a NUL, for xargs -0',
  },
  examples: {
    'redsem list': 'the names, one per line',
    'redsem list -0 | xargs -0 -n 1 redsem status': 'the status of each',
  },
  arguments: [0, 0],
  run: (args) =>
    withOperator(args, async (operator) => {
      const names = await operator.names();
      if (args.flag('json')) return print(jsonText(names));
      const line = (name: string) => (args.flag('null') ? `${name}\0` : `${printable(name)}\n`);
      return print(names.map(line).join(''));
    }),
};
