import { quoted } from '../../arguments/shown.js';
import type { Command } from '../command.js';
import { EXIT } from '../failure.js';
import { complain, confirm } from '../output.js';
import { withOperator } from '../operator.js';

export const revokeCommand: Command = {
  synopsis: '[OPTION…] NAME TICKET',
  summary: 'take a permit from its holder',
  description: `
Takes a ticket from its holder and gives its permits to the next waiters. The holder is notified: "redsem run"
then ends its command, a Node.js program sees its handle lost. TICKET is what "redsem status" shows.

Exit code 1: there is no such ticket.`,
  options: {},
  examples: {
    'redsem revoke deploys 3f9Kq0mYwZ1x.1': 'the holder of that ticket must stop',
  },
  arguments: [2, 2],
  run: (args) => {
    const [name = '', ticket = ''] = args.positionals;
    return withOperator(args, async (operator) => {
      if (await operator.revoke(name, ticket)) return confirm(`${name}: revoked ${ticket}`);
      complain(`${quoted(name)} has no ticket ${ticket}`);
      return EXIT.noSuchTicket;
    });
  },
};
