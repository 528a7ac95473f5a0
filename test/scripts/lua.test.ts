import { execFileSync } from 'node:child_process';

import { findExecutable } from '../support/find-executable.js';
import { redisScripts } from '../support/redis-scripts.js';

/** As it is in servers, where a package of Debian has it. */
const interpreter = ['luac5.1', 'luac'].find((name) => findExecutable(name) !== undefined);

describe('each script', () => {
  for (const { name, text } of redisScripts) {
    it(`is Lua 5.1: ${name}`, async () => {
      if (interpreter !== undefined) execFileSync(interpreter, ['-p', '-'], { input: text });
      else await parsedByTheMock(text);
    });
  }
});

/** Behind a return: it is read, and does nothing. */
async function parsedByTheMock(text: string): Promise<void> {
  const { default: RedisMock } = await import('ioredis-mock');
  const mock = new RedisMock();
  await mock.eval(`do return 1 end ${text}`, 0);
  mock.disconnect();
}
