import type { OpenClient } from '../../../test/support/open-client.js';
import { openClient } from '../../../test/support/open-client.js';
import type { TestServer } from '../../../test/support/redis-server.js';
import { backendOf } from '../../../src/targets.js';
import type { SingleTarget } from '../../../src/targets.js';
import type { Row } from '../../../test/conformance/row.js';
import { tamperingBy } from '../../../test/conformance/tampering.js';

/** Rows on several independent masters: what decides is a majority of them. */
export function quorumRows(servers: () => readonly TestServer[]): Row[] {
  return (['redis', 'ioredis'] as const).map((kind) => ({
    title: `a quorum of three over ${kind}`,
    open: async () => {
      const connect = (): Promise<OpenClient[]> =>
        Promise.all(servers().map(async ({ url }) => openClient(kind, url)));
      const [one, two] = [await connect(), await connect()];
      const [target, other] = [one, two].map((clients) =>
        clients.map((client) => client.target as SingleTarget),
      );
      if (target === undefined || other === undefined) throw new Error('no clients');
      return {
        target,
        other,
        tickets: tamperingBy(backendOf(target)),
        close: async () => {
          for (const client of [...one, ...two]) await client.close();
        },
      };
    },
  }));
}
