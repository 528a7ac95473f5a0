import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import type { CliResult } from './cli-process.js';
import { redsem, shell } from './cli-process.js';
import { OwnSemaphore, withSemaphore } from './semaphore-on.js';

const ODD_NAMES = ['a{b}%7B:meta', 'new\nline \u001b[31mred', 'späce 漢字 🚀', '-dash', 'quote\'"'];

for (const client of ['redis', 'ioredis']) {
  describeWithServer(`redsem status, list, limit and revoke through ${client}`, (server) => {
    const call = (...args: string[]): Promise<CliResult> =>
      redsem([args[0] ?? '', '--client', client, ...args.slice(1)], { url: server().url });

    it('shows who holds and who waits', async () => {
      await withSemaphore(server(), 'deploys', 2, async (own) => {
        const [first] = [await own.acquire(), await own.acquire()];
        const waiting = own.acquire().catch(() => undefined);
        await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
        const { code, stdout, stderr } = await call('status', 'deploys');
        expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
        const [head, , columns, ...rows] = stdout.split('\n');
        expect(head).to.equal('deploys: 2 of 2 permits held, 1 waiting');
        expect(columns).to.match(/^SLOT +HELD FOR +EXPIRES IN +TOKEN +TICKET +HOLDER$/);
        const token = String(first?.fencingToken);
        expect(rows[0]).to.match(new RegExp(`^0 +\\S+ +\\d+s +${token} +${first?.id} +the test$`));
        expect(rows[1]).to.match(/^1 .* the test$/);
        expect(rows[3]).to.match(/^PLACE +WAITING FOR +PERMITS +REQUEST +WAITER$/);
        expect(rows[4]).to.match(/^1 +\S+ +1 +\S+ +the test$/);
        await own.semaphore.close();
        await waiting;
      });
    });

    it('tells programs the same as JSON, with the limit that the holders use', async () => {
      await withSemaphore(server(), 'json', 3, async (own) => {
        const { id } = await own.acquire();
        const sight = parsed(await call('status', '--json', 'json'));
        expect(sight).to.deep.include({ name: 'json', limit: 3, held: 1, waiting: 0, waiters: [] });
        expect(sight).to.have.nested.property('holders[0].id', id);
        expect(sight).to.have.nested.property('holders[0].slots').that.deep.equals([0]);
      });
    });

    it('tells of a name that nobody has used that its limit is not known', async () => {
      const { stdout } = await call('status', 'unused');
      expect(stdout).to.equal('unused: 0 permits held (limit unknown), 0 waiting\n');
      expect(parsed(await call('status', '--json', 'unused'))).to.include({ limit: null });
      expect(await call('limit', 'unused')).to.deep.include({ code: 0, stdout: '?\n' });
    });

    it('lists all names of a prefix, whatever they hold, and none of another', async () => {
      const all = ODD_NAMES.map((name) => new OwnSemaphore(server(), name, 1, 'odd*[prefix'));
      const other = new OwnSemaphore(server(), 'of another', 1, 'oddly-[prefix');
      for (const own of [...all, other]) await own.acquire();
      await server().command('SET', 'odd*[prefix:{no%20name}:meta', 'of somebody else');
      const prefix = ['--prefix', 'odd*[prefix'];
      const names = ODD_NAMES.toSorted();
      expect(parsed(await call('list', ...prefix, '--json'))).to.deep.equal(names);
      const { stdout } = await call('list', ...prefix, '-0');
      expect(stdout).to.equal(names.map((name) => `${name}\0`).join(''));
      const plain = await call('list', ...prefix);
      expect(plain.stdout.split('\n')).to.include('new\\u000aline \\u001b[31mred');
      const overview = await call('status', ...prefix);
      expect(overview.stdout.split('\n')[0]).to.match(/^NAME +LIMIT +HELD +WAITING$/);
      expect(overview.stdout).to.match(/^späce 漢字 🚀 +1 +1 +0$/m);
      const sights = parsed(await call('status', ...prefix, '--json'));
      expect(sights).to.have.length(names.length).and.have.nested.property('[0].held', 1);
      const dash = await call('status', ...prefix, '--', '-dash');
      expect(dash.stdout).to.match(/^-dash: 1 of 1 permit held/);
      await Promise.all([...all, other].map((own) => own.close()));
    });

    it('changes the limit for everybody: a waiter gets its permit', async () => {
      await withSemaphore(server(), 'grows', 1, async (own) => {
        await own.acquire();
        const waiting = own.acquire();
        await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
        expect(await call('limit', 'grows', '2')).to.deep.equal(silent);
        expect((await waiting).slot).to.equal(1);
        expect(await call('limit', 'grows')).to.deep.include({ code: 0, stdout: '2\n' });
      });
    });

    it('takes a ticket from its holder and gives the permit to who waits', async () => {
      await withSemaphore(server(), 'revoked', 2, async (own) => {
        const warnings: string[] = [];
        own.semaphore.on('warning', ({ message }) => warnings.push(message));
        const [first, second] = [await own.acquire(), await own.acquire()];
        const lost = new Promise((resolve) =>
          second?.once('lost', ({ reason }) => resolve(reason)),
        );
        const waiting = own.acquire();
        await eventually(async () => expect((await own.inspect()).waiting).to.equal(1));
        expect(await call('revoke', 'revoked', second?.id ?? '')).to.deep.equal(silent);
        expect((await waiting).slot).to.equal(1);
        expect(await lost).to.equal('revoked');
        expect(await first?.release()).to.equal(true);
        // It went by the limit of those who are there.
        expect(warnings).to.deep.equal([]);
      });
    });

    it('says so when there is no such ticket', async () => {
      const { code, stderr } = await call('revoke', 'revoked', 'abc.1');
      expect({ code, stderr }).to.deep.equal({
        code: 1,
        stderr: 'redsem: "revoked" has no ticket abc.1\n',
      });
    });

    it('says how it is called when an argument is missing, or can be none', async () => {
      const missing = await call('revoke', 'revoked');
      expect(missing).to.deep.include({
        code: 64,
        stderr: 'redsem: expected: redsem revoke [OPTION…] NAME TICKET\n',
      });
      expect(await call('limit', 'a', '1', 'more')).to.include({ code: 64 });
      const noTicket = await call('revoke', 'nobody uses this', 'no ticket has spaces');
      expect(noTicket).to.include({ code: 64, stdout: '' });
    });

    it('says what the server allows nobody of this name', async () => {
      const user = ['reader', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-@scripting'];
      await server().command('ACL', 'SETUSER', ...user);
      const url = `redis://reader:secret@127.0.0.1:${server().port}`;
      const refused = await redsem(['limit', '--client', client, 'a', '4'], { url });
      expect(refused).to.include({ code: 69, stdout: '' });
      expect(refused.stderr).to.match(/^redsem: .*NOPERM.*\n$/);
    });

    it('shows what can be read beside what somebody else has damaged', async () => {
      const prefix = ['--prefix', 'hurt'];
      const own = new OwnSemaphore(server(), 'whole', 2, 'hurt');
      const { id } = await own.acquire();
      const damage = [
        ['SET', 'hurt:{text}:meta', 'not a hash'],
        ['HSET', 'hurt:{no number}:meta', 'limit', 'three'],
        ['HSET', 'hurt:{}:meta', 'a', 'b'],
        ['HSET', `hurt:{${'x'.repeat(513)}}:meta`, 'a', 'b'],
        // A label as no client writes it.
        ['ZADD', 'hurt:{label}:tickets', '9e15', 'peer.1'],
        ['HSET', 'hurt:{label}:meta', 'peer.1', '0 7 8 50%'],
      ];
      for (const command of damage) await server().command(...command);
      const names = ['label', 'no number', 'text', 'whole'];
      expect(parsed(await call('list', ...prefix, '--json'))).to.deep.equal(names);
      const overview = await call('status', ...prefix);
      expect(overview).to.include({ code: 0, stderr: '' });
      expect(overview.stdout).to.match(/^label +\? +1 +0$/m);
      expect(overview.stdout).to.match(/^no number +\? +\? +\? +cannot be read: \S.*$/m);
      expect(overview.stdout).to.match(/^text +\? +\? +\? +cannot be read: .*WRONGTYPE.*$/m);
      expect(overview.stdout).to.match(/^whole +2 +1 +0$/m);
      const [label, , text, whole] = parsed(await call('status', ...prefix, '--json')) as object[];
      expect(label).to.have.nested.property('holders[0].label', '50%');
      expect(text).to.have.keys('name', 'error').and.include({ name: 'text' });
      expect(whole).to.have.nested.property('holders[0].id', id);
      await own.close();
    });

    it('writes JSON that does nothing to a terminal and says the same', async () => {
      const name = 'a\u009b2J\u202e\u{e0041}\u061c\u200b\u007f 👩‍👧 \n';
      const own = new OwnSemaphore(server(), name, 1, 'signs');
      await own.acquire();
      for (const args of [['status'], ['status', '--', name], ['list']]) {
        const result = await call(args[0] ?? '', '--prefix', 'signs', '--json', ...args.slice(1));
        expect(result.stdout).not.to.match(/(?![\n\u200d])[\p{Cc}\p{Cf}]/u);
        const [first] = [parsed(result)].flat();
        expect(args[0] === 'list' ? first : Reflect.get(Object(first), 'name')).to.equal(name);
      }
      await own.close();
    });

    it('says what the server refuses', async () => {
      await server().command('SET', 'redsem:{damaged}:meta', 'text');
      await server().command('SET', 'only:{damaged}:meta', 'text');
      // By its name, and where there is nothing else.
      for (const args of [['damaged'], ['--prefix', 'only']]) {
        const { code, stdout, stderr } = await call('status', ...args);
        expect({ code, stdout }).to.deep.equal({ code: 69, stdout: '' });
        expect(stderr).to.match(/^redsem: .*WRONGTYPE.*\n$/);
      }
    });
  });
}

describeWithServer('redsem in a pipeline', (server) => {
  it('ends quietly when nobody reads on', async () => {
    await withSemaphore(server(), 'x'.repeat(400), 1, async (own) => {
      await own.acquire();
      const script = '{ redsem watch --interval 100ms; echo "code $?" >&2; } | head -n 1';
      const { stdout, stderr } = await shell(script, { url: server().url });
      expect(stdout.split('\n')).to.have.length(2);
      expect(stderr).to.equal('code 141\n');
    });
  });
});

const silent: CliResult = { code: 0, signal: null, stdout: '', stderr: '' };

function parsed({ stdout }: CliResult): unknown {
  return JSON.parse(stdout);
}
