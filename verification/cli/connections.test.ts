import { join } from 'node:path';
import { expect } from 'chai';
import { redsem } from '../../test/cli/cli-fixture.js';
import { leastRights } from '../support/least-rights.js';
import {
  describeStarted,
  describeWithServer,
  noServer,
} from '../../test/support/require-server.js';
import { describeWithCluster } from '../support/require-topology.js';
import { noTls, startTlsServer } from '../support/tls-server.js';

const SCRIPT = ['--', 'sh', '-c', 'echo in slot $REDSEM_SLOT'];
const SERVER_ARGS = 'me on >p@ss/word ~* &* +@all --unixsocket redis.sock --databases 4';

for (const client of ['redis', 'ioredis']) {
  const call = (url: string, command: string, ...args: string[]) =>
    redsem([command, '--client', client, ...args], { url });

  /** `run`, `list` and `limit` over a connection: calls of the library, and calls beside it. */
  async function expectAllToWork(url: string, ...options: string[]): Promise<void> {
    const ran = await call(url, 'run', ...options, client, ...SCRIPT);
    expect(ran).to.deep.equal({ code: 0, signal: null, stdout: 'in slot 0\n', stderr: '' });
    expect((await call(url, 'limit', ...options, client, '4')).code).to.equal(0);
    expect((await call(url, 'limit', ...options, client)).stdout).to.equal('4\n');
    expect((await call(url, 'list', ...options)).stdout).to.match(new RegExp(`^${client}$`, 'm'));
  }

  describeWithCluster(`redsem --cluster through ${client}`, (cluster) => {
    it('works on names of every node', async () => {
      const [first = '', second = ''] = cluster().nodes.map(({ url }) => url);
      const start = ['--cluster', '--url', first, '--url', second];
      // Of three nodes.
      for (const name of ['a', 'b', 'c']) {
        const ran = await call('', 'run', ...start, name, ...SCRIPT);
        expect(ran).to.deep.equal({ code: 0, signal: null, stdout: 'in slot 0\n', stderr: '' });
      }
      expect((await call('', 'list', ...start)).stdout).to.equal('a\nb\nc\n');
      expect((await call('', 'limit', ...start, 'b')).stdout).to.equal('1\n');
    });
  });

  describeWithServer(
    `redsem with a URL through ${client}`,
    (server) => {
      it('logs in with name and password, into the database that the URL names, and by a Unix socket', async () => {
        const login = `me:p%40ss%2Fword@`;
        const host = `redis://${login}127.0.0.1:${server().port}`;
        await expectAllToWork(`${host}/3`);
        // Only that database has it.
        expect(await call(`${host}/2`, 'list')).to.include({ code: 0, stdout: '' });
        // It does not work in database 0 instead.
        const none = await call(`${host}/9`, 'list');
        expect(none).to.include({ code: 69, stdout: '' });
        expect(none.stderr).to.match(/^redsem: cannot connect to .*: ERR DB index .*\n$/);
        const wrong = await call(`redis://me:wrong@127.0.0.1:${server().port}`, 'list');
        expect(wrong.code).to.equal(69);
        expect(wrong.stderr)
          .to.match(/WRONGPASS/)
          .and.not.contain('wrong@');
        await expectAllToWork(`unix://${login}${join(server().directory, 'redis.sock')}`);
      });

      it('needs no right beside those of the library, but SCAN for list', async () => {
        const user = ['few', 'reset', 'on', '>secret', 'resetchannels', '-@all', ...leastRights];
        await server().command('ACL', 'SETUSER', ...user);
        const url = `redis://few:secret@127.0.0.1:${server().port}`;
        const ran = await call(url, 'run', 'few', ...SCRIPT);
        expect(ran).to.include({ code: 0, stdout: 'in slot 0\n', stderr: '' });
        expect(await call(url, 'status', 'few')).to.include({ code: 0, stderr: '' });
        for (const command of ['list', 'watch']) {
          const refused = await call(url, command);
          expect(refused).to.include({ code: 69, stdout: '' });
          expect(refused.stderr).to.match(/^redsem: listing semaphores failed: .*scan/i);
        }
        const third = await call(`${url}/3`, 'run', 'few', ...SCRIPT);
        expect(third).to.include({ code: 69, stdout: '' });
        expect(third.stderr).to.match(/^redsem: cannot connect to .*: NOPERM.*select/);
        await server().command('ACL', 'SETUSER', 'few', '+scan');
        expect((await call(url, 'list')).stdout).to.match(/^few$/m);
      });
    },
    { args: ['--user', ...SERVER_ARGS.split(' ')] },
  );

  const missing = noServer() ?? noTls();
  describeStarted(`redsem with TLS through ${client}`, missing, startTlsServer, (server) => {
    it('trusts only the given authority, and shows its certificate', async () => {
      const { ca, cert, key } = server().files;
      const files = ['--cacert', ca, '--cert', cert, '--key', key];
      await expectAllToWork(`redis://127.0.0.1:${server().port}`, '--tls', ...files);
      const secure = `rediss://127.0.0.1:${server().port}`;
      expect((await call(secure, 'list', ...files)).stdout).to.equal(`${client}\n`);
      const { code, stderr } = await call(secure, 'list');
      expect(code).to.equal(69);
      expect(stderr).to.match(/self-signed certificate|unable to verify/);
    });
  });
}
