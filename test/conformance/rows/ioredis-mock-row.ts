import RedisMock from 'ioredis-mock';

import { type Command, keyView } from './redis-row.js';
import type { Row } from '../row.js';

/** Mocks with one port share their data; no other mock has this one. */
const PORT = 46_379;

export function ioredisMockRow(): Row {
  return {
    title: 'ioredis-mock',
    lacks: {
      listing: 'its SCAN takes patterns in another way',
      server: 'it has no server process',
    },
    open: () => {
      const [target, other] = [new RedisMock({ port: PORT }), new RedisMock({ port: PORT })];
      const command: Command = (name = '', ...args) =>
        Reflect.apply(Reflect.get(target, name.toLowerCase()) as Command, target, args);
      const close = async (): Promise<void> => {
        await target.flushall();
        target.disconnect();
        other.disconnect();
      };
      return Promise.resolve({ target, other, keys: keyView(command), close });
    },
  };
}
