import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { leastRights } from '../../test/support/least-rights.js';
import { describeWithServer, noServer } from '../../test/support/require-server.js';
import { describeWithCluster } from '../../test/support/require-topology.js';
import { noTls, startTlsServer, type TlsServer } from '../../test/support/tls-server.js';
import { redsem } from '../../test/cli/cli-process.js';

const CLIENTS = ['redis', 'ioredis'];
/** Seven programs one after the other, on a machine that does other things, too. */
const PATIENCE = 90_000;
const SCRIPT = ['--', 'sh', '-c', 'echo in slot $REDSEM_SLOT'];

/** `run`, `list` and `limit` over a connection: what goes by the library, and what goes beside it. */
async function expectAllToWork(name: string, server: string[], url?: string): Promise<void> {
  const options = url === undefined ? {} : { url };
  const ran = await redsem(['run', ...server, name, ...SCRIPT], options);
  expect(ran).to.deep.equal({ code: 0, signal: null, stdout: 'in slot 0\n', stderr: '' });
  expect((await redsem(['limit', ...server, name, '4'], options)).code).to.equal(0);
  expect((await redsem(['limit', ...server, name], options)).stdout).to.equal('4\n');
  const { stdout } = await redsem(['list', ...server], options);
  expect(stdout.split('\n')).to.include(name);
}

for (const client of CLIENTS) {
  describeWithCluster(`redsem --cluster through ${client}`, (cluster) => {
    it('works on names of every node', async () => {
      const [first, second] = cluster().nodes.map(({ url }) => url);
      const start = ['--url', String(first), '--url', String(second)];
      const server = ['--client', client, '--cluster', ...start];
      // Of three nodes.
      for (const name of ['a', 'b', 'c']) {
        const ran = await redsem(['run', ...server, name, ...SCRIPT]);
        expect(ran).to.deep.equal({ code: 0, signal: null, stdout: 'in slot 0\n', stderr: '' });
      }
      const { stdout } = await redsem(['list', ...server]);
      expect(stdout).to.equal('a\nb\nc\n');
      expect((await redsem(['limit', ...server, 'b'])).stdout).to.equal('1\n');
    }).timeout(PATIENCE);
  });

  describeWithServer(
    `redsem with a URL through ${client}`,
    (server) => {
      it('logs in with name and password, into the database that the URL tells', async () => {
        const url = `redis://me:p%40ss%2Fword@127.0.0.1:${server().port}/3`;
        await expectAllToWork('with login', ['--client', client], url);
        const wrong = `redis://me:wrong@127.0.0.1:${server().port}`;
        const { code, stderr } = await redsem(['list', '--client', client], { url: wrong });
        expect(code).to.equal(69);
        expect(stderr)
          .to.match(/WRONGPASS/)
          .and.not.contain('wrong@');
        // Neither works in database 0 instead.
        const none = `redis://me:p%40ss%2Fword@127.0.0.1:${server().port}/9`;
        const refused = await redsem(['list', '--client', client], { url: none });
        expect(refused).to.include({ code: 69, stdout: '' });
        expect(refused.stderr).to.match(/^redsem: cannot connect to .*: ERR DB index .*\n$/);
        // Only the database of the URL has it.
        const other = `redis://me:p%40ss%2Fword@127.0.0.1:${server().port}/2`;
        expect(await redsem(['list', '--client', client], { url: other })).to.include({
          stdout: '',
        });
      }).timeout(PATIENCE);

      it('needs no right beside those of the library, but SCAN for list', async () => {
        const user = ['few', 'reset', 'on', '>secret', 'resetchannels', '-@all', ...leastRights];
        await server().command('ACL', 'SETUSER', ...user);
        const url = `redis://few:secret@127.0.0.1:${server().port}`;
        const ran = await redsem(['run', '--client', client, 'few', ...SCRIPT], { url });
        expect(ran).to.include({ code: 0, stdout: 'in slot 0\n', stderr: '' });
        const status = await redsem(['status', '--client', client, 'few'], { url });
        expect(status).to.include({ code: 0, stderr: '' });
        const list = await redsem(['list', '--client', client], { url });
        expect(list).to.include({ code: 69, stdout: '' });
        expect(list.stderr).to.match(/^redsem: SCAN failed: NOPERM/);
        const watch = await redsem(['watch', '--client', client], { url });
        expect(watch).to.deep.equal({ ...list, stdout: '' });
        const third = await redsem(['run', '--client', client, 'few', ...SCRIPT], {
          url: `${url}/3`,
        });
        expect(third).to.include({ code: 69, stdout: '' });
        expect(third.stderr).to.match(/^redsem: cannot connect to .*: NOPERM.*select/);
        await server().command('ACL', 'SETUSER', 'few', '+scan');
        const allowed = await redsem(['list', '--client', client], { url });
        expect(allowed).to.include({ code: 0, stdout: 'few\n' });
      }).timeout(PATIENCE);

      it('says that a password is missing', async () => {
        const admin = new Redis(server().port, { username: 'me', password: 'p@ss/word' });
        await admin.acl('SETUSER', 'default', 'resetpass', '>needed');
        const url = `redis://127.0.0.1:${server().port}`;
        const { code, stderr } = await redsem(['status', '--client', client, 'x'], { url });
        await admin.acl('SETUSER', 'default', 'nopass');
        await admin.quit();
        expect(code).to.equal(69);
        expect(stderr).to.match(/^redsem: cannot connect to \S+ NOAUTH/);
      });

      it('goes by a Unix socket', async () => {
        const url = `unix://me:p%40ss%2Fword@${join(server().directory, 'redis.sock')}`;
        await expectAllToWork('by socket', ['--client', client, '--url', url]);
      }).timeout(PATIENCE);
    },
    {
      args: [
        '--user',
        ...'me on >p@ss/word ~* &* +@all'.split(' '),
        ...'--unixsocket redis.sock --databases 4'.split(' '),
      ],
    },
  );
}

const missing = noServer() ?? noTls();
(missing === undefined ? describe : describe.skip)('redsem with TLS', () => {
  let server: TlsServer;
  const files: string[] = [];

  before('start redis-server', async () => {
    server = await startTlsServer();
    for (const [option, name, content] of [
      ['--cacert', 'trusted.crt', server.tls.ca],
      ['--cert', 'own.crt', server.tls.cert],
      ['--key', 'own.key', server.tls.key],
    ] as const) {
      const path = join(server.server.directory, name);
      writeFileSync(path, content);
      files.push(option, path);
    }
  });

  after('stop redis-server', () => server.stop());

  for (const client of CLIENTS) {
    it(`trusts the authority given, and shows its certificate, through ${client}`, async () => {
      const url = `redis://127.0.0.1:${server.port}`;
      await expectAllToWork(`tls ${client}`, ['--client', client, '--tls', ...files], url);
      const secure = `rediss://127.0.0.1:${server.port}`;
      const listed = await redsem(['list', '--client', client, ...files], { url: secure });
      expect(listed.stdout).to.contain(`tls ${client}`);
    }).timeout(PATIENCE);

    it(`trusts nobody else, through ${client}`, async () => {
      const url = `rediss://127.0.0.1:${server.port}`;
      const { code, stderr } = await redsem(['list', '--client', client], { url });
      expect(code).to.equal(69);
      expect(stderr).to.match(/self-signed certificate|unable to verify/);
    });
  }
});
