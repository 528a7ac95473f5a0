import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { describeWithServer } from '../support/require-server.js';
import { makeTemporaryFolder } from '../support/temporary-folder.js';
import { answerTo, sendLimit } from '../web/web-fixture.js';
import { startFromSources, semaphoreOn } from './cli-fixture.js';
import { redsemHere } from './in-process.js';

async function startWeb(url: string, ...args: string[]) {
  const program = startFromSources(['web', '--listen', '127.0.0.1:0', ...args], { url });
  await program.shows(/^http:\S+\n/);
  const [address = ''] = /^http:\S+/.exec(program.stdout) ?? [];
  const printed = /^token: (\S+)\n/m.exec(program.stdout)?.[1];
  const ask = (path: string, token?: string): Promise<Response> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return fetch(address + path, { headers });
  };
  const setLimit = (token: string): Promise<Response> => {
    const headers = { 'sec-fetch-site': 'same-origin', authorization: `Bearer ${token}` };
    return sendLimit(`${address}api/limit`, headers);
  };
  return { program, address, printed, ask, setLimit };
}

describeWithServer('redsem web', (server) => {
  it('prints its URL and a token once, shows and follows all with it, and ends by a signal', async () => {
    const jobs = semaphoreOn(server(), 'jobs', 2);
    await jobs.acquire();
    const { program, printed = '', ask, setLimit } = await startWeb(server().url);
    expect(printed).to.match(/^[\w-]{32}$/);
    expect((await ask('')).status).to.equal(200);
    for (const path of ['api/list', `api/list?token=${printed}`])
      expect((await ask(path)).status).to.equal(401);
    const list: unknown = await (await ask('api/list', printed)).json();
    expect(list).to.have.nested.property('semaphores[0].name', 'jobs');
    expect((await setLimit(printed)).status).to.equal(403);
    // A page that is open does not keep it.
    await (await ask('api/events', printed)).body?.getReader().read();
    const { code, stdout, stderr } = await program.end('SIGINT');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout.split(printed)).to.have.length(2);
    expect(await jobs.inspect()).to.include({ limit: 2, limitFrom: 'caller' });
  });

  it('changes with --actions and the token, under its own names alone', async () => {
    const jobs = semaphoreOn(server(), 'jobs', 2);
    const file = join(makeTemporaryFolder(), 'token');
    const given = 'a-token-from-a-file-0123456789';
    writeFileSync(file, `${given}\n`);
    const args = ['--actions', '--token-file', file, '--host', 'ops.example'];
    const { program, address, printed, setLimit } = await startWeb(server().url, ...args);
    expect(printed, 'a given token').to.equal(undefined);
    expect(await (await setLimit(given)).json()).to.deep.equal({ changed: true });
    expect(await jobs.inspect()).to.include({ limit: 3 });
    const { port } = new URL(address);
    const own = ['ops.example', `ops.example:${port}`, `localhost:${port}`, `[::1]:${port}`];
    const foreign = ['evil.example', `evil.example:${port}`, 'localhost', '127.0.0.1:1'];
    for (const host of [...own, ...foreign]) {
      const { status } = await answerTo(address, { headers: { host } });
      expect(status, host).to.equal(own.includes(host) ? 200 : 421);
    }
    expect((await program.end('SIGTERM')).code).to.equal(0);
  });

  it('refuses arguments that would let others in, and arguments that contradict each other', async () => {
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
