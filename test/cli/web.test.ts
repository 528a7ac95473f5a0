import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { describeWithServer } from '../support/require-server.js';
import { makeTemporaryFolder } from '../support/temporary-folder.js';
import { answerTo } from '../web/web-fixture.js';
import { startFromSources, withSemaphore } from './cli-fixture.js';
import { redsemHere } from './in-process.js';

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };

async function startWeb(url: string, ...args: string[]) {
  const program = startFromSources(['web', '--listen', '127.0.0.1:0', ...args], { url });
  await program.shows(/^http:\S+\n/);
  const [, address = ''] = /^(http:\S+)\n/.exec(program.stdout) ?? [];
  const printed = /^token: (\S+)\n/m.exec(program.stdout)?.[1];
  const get = (path: string, token?: string): Promise<Response> =>
    fetch(address + path, token === undefined ? {} : { headers: bearer(token) });
  const setLimit = (name: string, token = ''): Promise<Response> =>
    fetch(`${address}api/limit`, {
      method: 'POST',
      headers: { ...SAME_ORIGIN, ...bearer(token) },
      body: JSON.stringify({ name, limit: 9 }),
    });
  return { program, address, printed, get, setLimit };
}

function bearer(token: string) {
  return { authorization: `Bearer ${token}` };
}

describeWithServer('redsem web', (server) => {
  it('prints its URL and a token once, shows and follows all with it, and ends by a signal', async () => {
    await withSemaphore(server(), 'jobs', 2, async (jobs) => {
      const handle = await jobs.acquire();
      const { program, printed = '', get, setLimit } = await startWeb(server().url);
      expect(printed).to.match(/^[\w-]{32}$/);
      expect((await get('')).status).to.equal(200);
      expect((await get('api/list')).status).to.equal(401);
      expect((await get(`api/list?token=${printed}`)).status).to.equal(401);
      const list: unknown = await (await get('api/list', printed)).json();
      expect(list).to.have.nested.property('semaphores[0].name', 'jobs');
      expect((await setLimit('jobs', printed)).status).to.equal(403);
      // A page that is open does not keep it.
      await (await get('api/events', printed)).body?.getReader().read();
      const { code, stdout, stderr } = await program.end('SIGINT');
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      expect(stdout.split(printed)).to.have.length(2);
      expect(await jobs.inspect()).to.include({ limit: 2, limitFrom: 'caller' });
      await handle.release();
    });
  });

  it('changes with --actions and the token, under its own names alone', async () => {
    await withSemaphore(server(), 'changed', 2, async (jobs) => {
      const [file, given] = [
        join(makeTemporaryFolder(), 'token'),
        'a-token-from-a-file-0123456789',
      ];
      writeFileSync(file, `${given}\n`);
      const args = ['--actions', '--token-file', file, '--host', 'ops.example'];
      const { program, address, printed, setLimit } = await startWeb(server().url, ...args);
      expect(printed, 'a given token').to.equal(undefined);
      expect(await (await setLimit('changed', given)).json()).to.deep.equal({ changed: true });
      expect(await jobs.inspect()).to.include({ limit: 9 });
      const { port } = new URL(address);
      const own = ['ops.example', `ops.example:${port}`, `localhost:${port}`, `[::1]:${port}`];
      const foreign = ['evil.example', `evil.example:${port}`, 'localhost', '127.0.0.1:1'];
      for (const host of [...own, ...foreign]) {
        const { status } = await answerTo(address, { headers: { host } });
        expect(status, host).to.equal(own.includes(host) ? 200 : 421);
      }
      expect((await program.end('SIGTERM')).code).to.equal(0);
    });
  });

  it('refuses what would let others in, and what cannot be', async () => {
    const [outside] = Object.values(networkInterfaces()).flatMap((addresses) =>
      (addresses ?? []).filter(({ internal, family }) => !internal && family === 'IPv4'),
    );
    const cases: [string[], RegExp][] = [
      [['--listen', '0.0.0.0:0'], /--listen: expected a loopback address, or a token/],
      [['--listen', '[::]:0'], /--listen: expected a loopback address, or a token/],
      [['--listen', `${outside?.address ?? '192.0.2.1'}:0`], /--listen: expected a loopback/],
      [['--listen', '0.0.0.0:0', '--token', 'x'.repeat(20)], /--host: expected the name/],
      [['--listen', '127.0.0.1'], /--listen: expected ADDRESS:PORT/],
      [['--listen', '127.0.0.1:65536'], /--listen: expected ADDRESS:PORT/],
      [['--actions', '--read-only'], /--read-only: expected without --actions/],
      [['--listen', '127.0.0.1:0', '--token', 'short'], /token: expected 16 printable/],
      [['--listen', '127.0.0.1:0', '--token-file', '/nonexistent'], /--token-file: ENOENT/],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await redsemHere(['web', ...args], { url: server().url });
      expect({ code, stdout }, args.join(' ')).to.deep.equal({ code: 64, stdout: '' });
      expect(stderr).to.match(message);
      expect(stderr).not.to.include('short');
    }
    const [listen, url] = [`127.0.0.1:${server().port}`, server().url];
    const taken = await redsemHere(['web', '--listen', listen], { url });
    expect(taken.code).to.equal(69);
    expect(taken.stderr).to.match(/^redsem: cannot listen: .*EADDRINUSE/);
  });
});
