import type { Masters } from '../../../test/quorum/servers.js';
import { backendOf } from '../../../src/clients.js';
import type { Lacks, Row } from '../../../test/conformance/row.js';
import { SEVERAL_SERVERS, tamperingBy } from '../../../test/conformance/rows/redis-row.js';

const LACKS: Lacks = {
  ...SEVERAL_SERVERS,
  keys: 'they are on several servers',
  push: 'a release hands no permit on, so nothing is pushed',
  queue:
    'requests that wait ask again and again, in no order, and only their own process knows of them',
  'operator calls': 'a quorum offers none of them',
  listing: 'each node has its own names',
  'server errors': 'several servers say why, see test/quorum',
};

/** Rows on several independent masters, of which a majority decides. */
export function quorumRows(masters: () => Masters): Row[] {
  return (['redis', 'ioredis'] as const).map((kind) => ({
    title: `a quorum of three over ${kind}`,
    lacks: LACKS,
    open: async () => {
      const [target, other] = [await masters().connect(kind), await masters().connect(kind)];
      const tickets = tamperingBy(backendOf(target));
      return { target, other, tickets, close: () => Promise.resolve() };
    },
  }));
}
