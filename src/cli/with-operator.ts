import type { Arguments } from './arguments.js';
import { prefixOf, serverSettings } from './common-options.js';
import { connect } from './connect.js';
import { Operator } from './operator.js';

/** Connects, does the work, and disconnects whatever comes of it. */
export async function withOperator<T>(
  args: Arguments,
  work: (operator: Operator) => Promise<T>,
): Promise<T> {
  const server = await connect(serverSettings(args));
  try {
    return await work(new Operator(server, prefixOf(args)));
  } finally {
    server.disconnect();
  }
}
