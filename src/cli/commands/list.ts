import type { Arguments } from '../arguments.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit-code.js';
import type { Operator } from '../operator.js';
import { jsonText, print, printable } from '../output.js';
import { withOperator } from '../operator.js';

export const listCommand: Command = {
  name: 'list',
  synopsis: '[OPTION…]',
  summary: 'list the semaphores',
  description: `
Lists the names of all semaphores that were in use within the last day, one per line. It goes through
the keys of the server by SCAN: nothing is blocked, but a large database takes its time.

A name may hold anything: control characters are printed as \\u escapes. Use --json or --null in programs.`,
  options: {
    json: { help: 'print a JSON array' },
    null: { short: '0', help: 'print each name as it is and end it with a NUL, for xargs -0' },
  },
  examples: [
    ['redsem list', 'the names, one per line'],
    ['redsem list -0 | xargs -0 -n 1 redsem status', 'the status of each'],
  ],
  arguments: [0, 0],
  run: (args) => withOperator(args, (operator) => list(operator, args)),
};

async function list(operator: Operator, args: Arguments): Promise<number> {
  const names = await operator.names();
  if (args.flag('json')) await print(jsonText(names));
  else if (args.flag('null')) await print(names.map((name) => `${name}\0`).join(''));
  else await print(names.map((name) => `${printable(name)}\n`).join(''));
  return EXIT.ok;
}
