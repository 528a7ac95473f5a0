import type { Command } from '../command.js';
import { jsonText, print, printable } from '../output.js';
import { withOperator } from '../operator.js';

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
