import { expect } from 'chai';
import { describeWithServer } from '../support/require-server.js';
import type { ProgramResult } from '../tooling/run-program.js';
import { semaphoreOn, untilWaiting } from './cli-fixture.js';
import { redsemHere } from './in-process.js';

/** A name with signs that change what a terminal shows. */
const SIGNS = 'a\u009b2J\u202e\u{e0041}\u061c\u200b\u007f 👩‍👧 \n';
const RED = 'new\nline \u001b[31mred';
const ODD_NAMES = [SIGNS, RED, 'a{b}%7B:info', 'späce 漢字 🚀', '-dash', 'quote\'"'];

function parsed({ stdout }: ProgramResult): unknown {
  expect(stdout).not.to.match(/(?![\n\u200d])[\p{Cc}\p{Cf}]/u);
  return JSON.parse(stdout);
}

const silent = { code: 0, signal: null, stdout: '', stderr: '' };

describeWithServer('redsem status, list, limit and revoke', (server) => {
  const call = (command: string, ...args: string[]): Promise<ProgramResult> =>
    redsemHere([command, ...args], { url: server().url });

  it('show holders and waiters; a revoked ticket, or a higher limit, serves the waiter', async () => {
    const own = semaphoreOn(server(), 'deploys', 2);
    const warnings: string[] = [];
    own.on('warning', ({ message }) => warnings.push(message));
    const [first, second] = [await own.acquire(), await own.acquire()];
    const lost = new Promise((resolve) => second.once('lost', resolve));
    const waiting = own.acquire();
    await untilWaiting(own);
    const [head, , columns, ...rows] = (await call('status', 'deploys')).stdout.split('\n');
    expect(head).to.match(/^deploys: 2 of 2 permits held, 1 waiting, the longest for \S+$/);
    expect(columns).to.match(/^HOLDER +SLOT +HELD FOR +EXPIRES IN +TOKEN +TICKET$/);
    const { id, fencingToken } = first;
    expect(rows[0]).to.match(new RegExp(`^the test +0 +\\S+ +\\d+s +${fencingToken} +${id}$`));
    expect(rows[1]).to.match(/^the test +1 /);
    expect(rows[3]).to.match(/^WAITER +PLACE +WAITING FOR +PERMITS +REQUEST$/);
    expect(rows[4]).to.match(/^the test +1 +\S+ +1 +\S+$/);
    expect(await call('revoke', 'deploys', second.id)).to.deep.equal(silent);
    expect((await waiting).slot).to.equal(1);
    expect(await lost).to.have.property('reason', 'revoked');
    // It went by the limit of the holders and waiters.
    expect(warnings).to.deep.equal([]);
    const next = own.acquire();
    await untilWaiting(own);
    expect(await call('limit', 'deploys', '3')).to.deep.equal(silent);
    expect((await next).slot).to.equal(2);
    expect(await call('limit', 'deploys')).to.deep.include({ code: 0, stdout: '3\n' });
    const summary = parsed(await call('status', '--json', 'deploys'));
    expect(summary).to.include({ name: 'deploys', limit: 3, held: 3, waiting: 0 });
    expect(summary).to.have.nested.property('holders[0].id', id);
    expect(summary).to.have.nested.property('holders[0].slots').that.deep.equals([0]);
  });

  it('list all names of a prefix, whatever they hold, and none of another', async () => {
    const prefix = ['--prefix', 'odd*[prefix'];
    for (const name of ODD_NAMES) await semaphoreOn(server(), name, 1, 'odd*[prefix').acquire();
    await semaphoreOn(server(), 'of another', 1, 'oddly-[prefix').acquire();
    await server().command('SET', 'odd*[prefix:{no%20name}:info', 'of another program');
    const names = ODD_NAMES.toSorted();
    expect(parsed(await call('list', ...prefix, '--json'))).to.deep.equal(names);
    const { stdout } = await call('list', ...prefix, '-0');
    expect(stdout).to.equal(names.map((name) => `${name}\0`).join(''));
    const plain = await call('list', ...prefix);
    expect(plain.stdout.split('\n')).to.include('new\\u000aline \\u001b[31mred');
    const overview = await call('status', ...prefix);
    expect(overview.stdout.split('\n')[0]).to.match(/^NAME +LIMIT +HELD +WAITING +OLDEST +RATE$/);
    expect(overview.stdout).to.match(/^späce 漢字 🚀 +1 +1 +0$/m);
    const summaries = parsed(await call('status', ...prefix, '--json'));
    expect(summaries).to.have.length(names.length).and.have.nested.property('[0].held', 1);
    const { stdout: dash } = await call('status', ...prefix, '--', '-dash');
    expect(dash).to.match(/^-dash: 1 of 1 permit held/);
  });

  it('set a rate and a budget, which count for waiters at once, and show them', async () => {
    const semaphore = semaphoreOn(server(), 'metered', 9);
    expect((await call('rate', 'metered')).stdout).to.equal('none\n');
    expect(await call('rate', 'metered', '1/d')).to.deep.equal(silent);
    const first = await semaphore.acquire();
    const waiting = semaphore.acquire();
    await untilWaiting(semaphore);
    expect((await call('rate', 'metered')).stdout).to.equal('1/d\n');
    const { stdout } = await call('status', 'metered');
    expect(stdout).to.match(
      /^metered: 1 of 9 permits held, 1 waiting, the longest for \S+, rate 1\/d, next in 23h /,
    );
    expect((await call('status')).stdout).to.match(/^metered +9 +1 +1 +\S+ +1\/d$/m);
    expect(await call('rate', '--burst', '7', 'metered', '100/15m')).to.deep.equal(silent);
    const second = await waiting;
    expect([first.slot, second.slot]).to.deep.equal([0, 1]);
    expect((await call('rate', 'metered')).stdout).to.equal('100/15m burst 7\n');
    const summary = parsed(await call('status', '--json', 'metered'));
    expect(summary)
      .to.have.property('rate')
      .that.includes({ permits: 100, per: 900_000, burst: 7, from: 'setRate', nextIn: 0 });
    expect(await call('rate', 'metered', 'none')).to.deep.equal(silent);
    expect(await semaphore.inspect()).not.to.have.property('rate');

    const budget = (...args: string[]) => call('budget', 'metered', 'tokens', ...args);
    expect((await budget()).stdout).to.equal('none\n');
    expect(await budget('1000/d')).to.deep.equal(silent);
    await semaphore.acquire({ cost: { tokens: 900 } });
    const third = semaphore.acquire({ cost: { tokens: 200 } });
    await untilWaiting(semaphore);
    const used = '1000/d, 900 of 1000 used';
    expect((await budget()).stdout).to.equal(`${used}\n`);
    expect((await call('budget', 'metered', 'constructor')).stdout).to.equal('none\n');
    expect((await call('status', 'metered')).stdout).to.include(`, tokens ${used}`);
    expect(await budget('none')).to.deep.equal(silent);
    await third;
  });

  it('pause with a limit of 0, and change the limit by a number', async () => {
    const semaphore = semaphoreOn(server(), 'paused', 2);
    await semaphore.acquire();
    for (const [args, limit] of [
      [['paused', '0'], 0],
      [['paused', '+3'], 3],
      [['--', 'paused', '-3'], 0],
      [['paused', '+1'], 1],
      [['paused', '0'], 0],
    ] as const) {
      const said = args.some((arg) => /^[+-]\d/.test(arg)) ? `${limit}\n` : '';
      expect(await call('limit', ...args)).to.include({ code: 0, stdout: said, stderr: '' });
      expect(await semaphore.inspect()).to.include({ limit, limitFrom: 'setLimit', held: 1 });
    }
    expect((await call('limit', 'paused')).stdout).to.equal('0\n');
    const below = await call('limit', '--', 'paused', '-1');
    expect(below.stderr).to.match(/whose limit is 0, .*got -1/);
    expect(await call('limit', 'paused', 'none')).to.deep.equal(silent);
    expect(await semaphore.inspect()).to.include({ limit: 2, limitFrom: 'caller', held: 1 });
  });

  it('show the readable semaphores beside semaphores that another program has damaged', async () => {
    const prefix = ['--prefix', 'hurt'];
    const { id } = await semaphoreOn(server(), 'whole', 2, 'hurt').acquire();
    await server().command('SET', 'hurt:{text}:info', 'not a hash');
    await server().command('HSET', 'hurt:{no number}:info', 'state', 'three');
    const overview = await call('status', ...prefix);
    expect(overview).to.include({ code: 0, stderr: '' });
    expect(overview.stdout).to.match(/^no number +\? +0 +0$/m);
    expect(overview.stdout).to.match(/^text( +\?){5} +cannot be read: .*WRONGTYPE.*$/m);
    expect(overview.stdout).to.match(/^whole +2 +1 +0$/m);
    const summaries = parsed(await call('status', ...prefix, '--json')) as object[];
    expect(summaries[1]).to.have.keys('name', 'error').and.include({ name: 'text' });
    expect(summaries[2]).to.have.nested.property('holders[0].id', id);
  });

  it('name an unknown, wrong or refused value, each with a separate exit code', async () => {
    await server().command('SET', 'redsem:{damaged}:info', 'text');
    await server().command('SET', 'only:{damaged}:info', 'text');
    const user = ['reader', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-@scripting'];
    await server().command('ACL', 'SETUSER', ...user);
    const reader = `redis://reader:secret@127.0.0.1:${server().port}`;
    for (const [args, code, said] of [
      [['status', 'unused'], 0, /^unused: not in use\n$/],
      [['status', '--json', 'unused'], 0, /^ +"limit": null,$/m],
      [['limit', 'unused'], 0, /^\?\n$/],
      // As many as beside a rate without a limit.
      [['limit', 'unlimited', '9007199254740991'], 0, /^$/],
      [['limit', 'unlimited'], 0, /^-\n$/],
      [['revoke', 'unused', 'abc.1'], 1, /^redsem: "unused" has no ticket abc\.1\n$/],
      [['watch', '--interval', '50ms'], 64, /^redsem: --interval: expected 500ms or more\n$/],
      [['watch', 'x'.repeat(513)], 64, /^redsem: \S.*\n$/],
      [['revoke', 'a'], 64, /^redsem: expected: redsem revoke \[OPTION…\] NAME TICKET\n$/],
      [['limit', 'a', '1', 'more'], 64, /^redsem: \S.*\n$/],
      [['limit', 'a', '9007199254740992'], 64, /^redsem: \S.*9007199254740992.*\n$/],
      [['limit', 'x'.repeat(513), '1'], 64, /^redsem: \S.*\n$/],
      [['list', '--prefix', 'a{b'], 64, /^redsem: prefix: expected no braces, got "a\{b".*\n$/],
      [['status', '--prefix', ''], 64, /^redsem: prefix: expected 1 to 128 bytes, got 0.*\n$/],
      [['rate', 'a', '100'], 64, /^redsem: RATE: expected a rate such as 10\/s.*got "100"\n$/],
      [['rate', 'a', '0/m'], 64, /^redsem: rate\.permits: expected an integer from 1 to/],
      [['rate', 'a', 'none', '--burst', '2'], 64, /^redsem: --burst: expected only beside/],
      [['status', '--jsn'], 64, /^redsem: Unknown option '--jsn'; see redsem status --help\n$/],
      [['revoke', 'nobody uses this', 'no ticket has spaces'], 64, /^redsem: \S.*\n$/],
      [['limit', '--url', reader, 'a', '4'], 69, /^redsem: .*NOPERM.*\n$/],
      // By its name, and where there is nothing else.
      [['status', 'damaged'], 69, /^redsem: .*WRONGTYPE.*\n$/],
      [['status', '--prefix', 'only'], 69, /^redsem: .*WRONGTYPE.*\n$/],
    ] as const) {
      const [command, ...others] = args;
      const result = await call(command, ...others);
      expect(result.code, args.join(' ')).to.equal(code);
      expect(code === 0 ? result.stdout : result.stderr).to.match(said);
      expect(code === 0 ? result.stderr : result.stdout).to.equal('');
    }
  });
});
