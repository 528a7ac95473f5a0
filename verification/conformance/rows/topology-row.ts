import type { Command } from '../../../test/conformance/redis-data.js';
import { RedisData } from '../../../test/conformance/redis-data.js';
import type { Row } from '../../../test/conformance/row.js';
import type { Connected } from '../../../test/conformance/rows/server-row.js';

/** Several servers that are reached as one. */
interface Topology {
  /** A command of the tests' own, where its key lives. */
  readonly command: Command;
}

/** A row on several servers: `connect` is called twice, for two clients that know nothing of each other. */
export function topologyRow(
  title: string,
  topology: () => Topology,
  connect: () => Promise<Connected>,
): Row {
  return {
    title,
    open: async () => {
      const [one, two] = [await connect(), await connect()];
      const data = new RedisData((...args) => topology().command(...args), one.target);
      return {
        target: one.target,
        other: two.target,
        tickets: data,
        keys: data,
        close: async () => {
          await one.close();
          await two.close();
        },
      };
    },
  };
}
