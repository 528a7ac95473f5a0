import { request as httpRequest } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { describeWithServer } from '../support/require-server.js';
import { makeTemporaryFolder } from '../support/temporary-folder.js';
import { startFromSources, withSemaphore } from './cli-fixture.js';
import { redsemHere } from './in-process.js';

const ANY_PORT = ['--listen', '127.0.0.1:0'];
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };

async function startWeb(url: string, ...args: string[]) {
  const program = startFromSources(['web', ...args], { url });
  await program.shows(/^http:\S+\n/);
  const [, address = ''] = /^(http:\S+)\n/.exec(program.stdout) ?? [];
  const token = /^token: (\S+)\n/m.exec(program.stdout)?.[1];
  return { program, address, token };
}

/** `fetch` sends no Host of one's own. */
function statusUnder(address: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(address, { headers: { host } }, (response) => {
      resolve(response.resume().statusCode);
    });
    request.once('error', reject).end();
  });
}

describeWithServer('redsem web', (server) => {
  it('prints its URL and a token once, shows and follows all with it, and ends by a signal', async () => {
    await withSemaphore(server(), 'jobs', 2, async (jobs) => {
      const handle = await jobs.acquire();
      const { program, address, token } = await startWeb(server().url, ...ANY_PORT);
      expect(token).to.match(/^[\w-]{32}$/);
      expect((await fetch(address)).status).to.equal(200);
      expect((await fetch(`${address}api/list`)).status).to.equal(401);
      expect((await fetch(`${address}api/list?token=${token}`)).status).to.equal(401);
      const headers = { authorization: `Bearer ${token}` };
      const list: unknown = await (await fetch(`${address}api/list`, { headers })).json();
      expect(list).to.have.nested.property('semaphores[0].name', 'jobs');
      const change = await fetch(`${address}api/limit`, {
        method: 'POST',
        headers: { ...headers, ...SAME_ORIGIN },
        body: JSON.stringify({ name: 'jobs', limit: 9 }),
      });
      expect(change.status).to.equal(403);
      // A page that is open does not keep it.
      const page = await fetch(`${address}api/events`, { headers });
      await page.body?.getReader().read();
      const { code, stdout, stderr } = await program.end('SIGINT');
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      expect(stdout.split(token ?? '')).to.have.length(2);
      expect(await jobs.inspect()).to.include({ limit: 2, limitFrom: 'caller' });
      await handle.release();
    });
  });

  it('changes with --actions and the token, under its own names alone', async () => {
    await withSemaphore(server(), 'changed', 2, async (jobs) => {
      const file = join(makeTemporaryFolder(), 'token');
      writeFileSync(file, 'a-token-from-a-file-0123456789\n');
      const args = ['--actions', '--token-file', file, '--host', 'ops.example'];
      const { program, address, token } = await startWeb(server().url, ...ANY_PORT, ...args);
      expect(token, 'one that was given is not printed').to.equal(undefined);
      const authorization = 'Bearer a-token-from-a-file-0123456789';
      const change = await fetch(`${address}api/limit`, {
        method: 'POST',
        headers: { ...SAME_ORIGIN, authorization },
        body: JSON.stringify({ name: 'changed', limit: 9 }),
      });
      expect(await change.json()).to.deep.equal({ changed: true });
      expect(await jobs.inspect()).to.include({ limit: 9 });
      const { port } = new URL(address);
      const own = ['ops.example', `ops.example:${port}`, `localhost:${port}`, `[::1]:${port}`];
      const foreign = ['evil.example', `evil.example:${port}`, 'localhost', '127.0.0.1:1'];
      for (const host of [...own, ...foreign]) {
        const status = own.includes(host) ? 200 : 421;
        expect(await statusUnder(address, host), host).to.equal(status);
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
      [['--token', 'short', ...ANY_PORT], /token: expected 16 printable/],
      [['--token-file', '/nonexistent', ...ANY_PORT], /--token-file: ENOENT/],
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
