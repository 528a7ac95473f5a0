import type { TestServer } from '../../support/redis-server.js';
import { RedisData } from '../redis-data.js';
import type { Row, Target } from '../row.js';

export interface Connected {
  readonly target: Target;
  close(): unknown;
}

/** A row on a real server: `connect` is called twice, for two clients that know nothing of each other. */
export function serverRow(
  title: string,
  server: () => TestServer,
  connect: (url: string) => Promise<Connected>,
  keyPrefix?: string,
): Row {
  return {
    title,
    open: async () => {
      const running = server();
      const [one, two] = [await connect(running.url), await connect(running.url)];
      const data = new RedisData((...args) => running.command(...args), one.target, keyPrefix);
      return {
        target: one.target,
        other: two.target,
        tickets: data,
        keys: data,
        server: running,
        close: async () => {
          await one.close();
          await two.close();
        },
      };
    },
  };
}
