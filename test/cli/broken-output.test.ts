import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { describeWithServer } from '../support/require-server.js';
import { shell, startRedsem } from './cli-process.js';
import { OwnSemaphore, withSemaphore } from './semaphore-on.js';

(existsSync('/dev/full') ? describe : describe.skip)('redsem on a full disk', () => {
  it('fails where its output cannot be written', async () => {
    const { stderr } = await shell('redsem --help > /dev/full; echo "code $?" >&2', {});
    expect(stderr).to.equal('redsem: cannot write: no space left on device\ncode 74\n');
  });

  it('has the same exit code where its message cannot be written', async () => {
    const { stdout } = await shell('redsem nonsense 2> /dev/full; echo "code $?"', {});
    expect(stdout).to.equal('code 64\n');
  });
});

describeWithServer('redsem watch in a pipe', (server) => {
  it('says once what cannot be read, and shows the others at each look', async () => {
    const own = new OwnSemaphore(server(), 'whole', 2, 'hurt');
    await own.acquire();
    await server().command('SET', 'hurt:{text}:meta', 'not a hash');
    const args = ['watch', '--interval', '100ms', '--prefix', 'hurt'];
    const watching = startRedsem(args, { url: server().url });
    await watching.shows(/(?:.* held=1 limit=2 .*name="whole"\n){3}/);
    watching.kill('SIGTERM');
    const { stderr } = await watching.result;
    expect(stderr).to.match(/^redsem: "text" cannot be read: .*WRONGTYPE.*\n$/);
    await own.close();
  });

  it('says why a look failed, goes on, and ends once nobody reads', async () => {
    await withSemaphore(server(), 'back', 2, async (own) => {
      await own.acquire();
      const watching = startRedsem(['watch', '--interval', '100ms', 'back'], { url: server().url });
      await watching.shows('held=1 limit=2');
      server().pause();
      await watching.complains(/^redsem: .*no (answer|reply)/).finally(() => server().resume());
      await own.acquire();
      await watching.shows('held=2 limit=2');
      watching.child.stdout?.destroy();
      expect(await watching.result).to.include({ code: 141, signal: null });
    });
  });
});
