import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import type { AcquireCall, AcquireVerdict } from '../../../../src/backends/backend.js';
import { acquire, together } from '../../../../src/backends/redis/acquire.js';
import { script } from '../../../../src/backends/redis/compose-script.js';
import { argumentsOf, keysOfAll, readReplies } from '../../../../src/backends/redis/operation.js';
import { RedisBackend } from '../../../../src/backends/redis/redis-backend.js';
import { RetryRule } from '../../../../src/backends/redis/redis-errors.js';
import { release } from '../../../../src/backends/redis/release.js';
import { runScript } from '../../../../src/backends/redis/script-runner.js';
import { ServerCheck } from '../../../../src/backends/redis/server-check.js';
import { UnexpectedReplyError } from '../../../../src/backends/redis/wire-text.js';
import { UnfitServerError } from '../../../../src/backends/unfit-server.js';
import { ManualClock, type RedisConnection } from '../../../../src/index.js';
import { errorOf } from '../../../support/rejection.js';
import { never, watch } from '../../stub-backend.js';
import { later } from '../../stub-fixture.js';

const NOW = '1700000000000001';

/** Each request asks for one permit, and does not wait. */
function callOf(name: string, ids: readonly string[], limit = 1, notAfter?: number): AcquireCall {
  const requests = ids.map((id) => ({ id, permits: 1, wait: false, arrival: undefined }));
  const rest = { client: 'c', limit, ttl: 1234.5, label: 'a b', notAfter };
  return { key: { prefix: 'p', name }, ...rest, requests };
}

/** A connection whose scripts all fail. */
function failing(reason: Error) {
  const run = () => Promise.reject(reason);
  return { runBySha: run, runByText: run };
}

let time = 0;

/** The clock of a server that passes its check. */
const nextTime = (): Promise<string> => Promise.resolve(String((time += 1)));

/** Texts of Redis 6.2 and 7, Valkey, node-redis and ioredis. */
const PASSING: readonly string[] = [
  'ERR Script attempted to access a non local key in a cluster node script: 6a5e1f, on @user_script:8.',
  "ERR Unable to execute command 'exists' in script because undeclared keys were accessed during rehashing of the slot script: 6a5e1f, on @user_script:8.",
  'ERR Script attempted to execute a command while the cluster is down script: 6a5e1f, on @user_script:8.',
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  "ERR Error running script (call to f_6a5e1f): @user_script:8: @user_script: 8: -READONLY You can't write against a read only replica.",
  'MOVED 3999 127.0.0.1:6381',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'CLUSTERDOWN Hash slot not served',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'NOREPLICAS Not enough good replicas to write.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  'ERR max number of clients reached',
  // Connections and clients.
  'Connection is closed.',
  "Stream isn't writeable and enableOfflineQueue options is false",
  'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
  '',
];

const LASTING: readonly string[] = [
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'WRONGTYPE Operation against a key holding the wrong kind of value script: 6a5e1f, on @user_script:8.',
  'ERR Error running script (call to f_6a5e1f): @user_script:8: WRONGTYPE Operation against a key holding the wrong kind of value',
  "OOM command not allowed when used memory > 'maxmemory'.",
  "ERR Error running script (call to f_6a5e1f): @user_script:8: @user_script: 8: -OOM command not allowed when used memory > 'maxmemory'.",
  'NOPERM this user has no permissions to access one of the keys used as arguments',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "ERR The user executing the script can't run this command or subcommand script: 6a5e1f, on @user_script:8.",
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  "ERR unknown command 'EVALSHA', with args beginning with: ",
  "CROSSSLOT Keys in request don't hash to the same slot",
];

// The lock-step of test/scripts has the effects of the scripts.
it('a script call names what neighbours share once, and the keys in the order of the calls', () => {
  const calls = [
    ...['x', 'w'].map((name) => callOf(name, [`c.${name}`])),
    ...['y', 'x'].map((name) => callOf(name, [`c.${name}`], 2)),
    callOf('z', ['c.z'], 2, 1.25),
  ];
  const runs = [
    ['*', 'p:inbox:c', '1', '1234500', 'a%20b', '', 'c.x', 'c.w'],
    ['', '2', '1234500', 'a%20b', '', 'c.y', 'c.x'],
    ['', '2', '1234500', 'a%20b', '0000000000001250', 'c.z'],
  ];
  expect(argumentsOf(calls, together)).to.deep.equal(runs.flat());
  expect(keysOfAll(calls).filter((key) => key.endsWith('info'))).to.deep.equal(
    ['x', 'w', 'y', 'x', 'z'].map((name) => `p:{${name}}:info`),
  );
  const text = `${NOW}|0 11|0 12|b|0 13|0 14`;
  for (const wrong of [`${NOW}|0 11|0 12`, `${text}|0 15`]) {
    expect(() => readReplies(wrong, calls, acquire)).to.throw(UnexpectedReplyError);
  }
  const verdicts = readReplies(text, calls, acquire).map((reply) => reply.verdicts[0]);
  const shown = verdicts.map((one) => (one?.kind === 'granted' ? one.fencingToken : one?.kind));
  expect(shown.join()).to.equal('11,12,busy,13,14');
});

for (const message of [
  // Redis 7.0 and 4; a service that forbids TIME; a server without scripts; clock.lua.
  'ERR Unknown Redis command called from script script: 0a1b, on @user_script:9.',
  'ERR Error running script: Write commands not allowed after non deterministic commands. Call redis.replicate_commands()',
  'ERR This Redis command is not allowed from script script: 0a1b, on @user_script:2.',
  "ERR unknown command 'EVALSHA', with args beginning with: '0a1b' '5'",
  'REDSEM_TIME 0000000',
]) {
  it(`a script that fails by "${message}" is not retried, and the error says what it needs`, async () => {
    const port = failing(new Error(message));
    const ran = runScript(port, { name: 'test', sha1: 'abc', text: '' }, [], [], String);
    const outcome = await errorOf(ran, UnfitServerError);
    expect(String(outcome)).to.match(/redsem needs Redis 6\.2 or newer, or Valkey/);
    expect(outcome).to.have.nested.property('cause.message', message);
    expect(new RedisBackend(port).isRetryable(outcome)).to.equal(false);
  });
}

it('errors that pass by themselves are worth another try, and others are not, by their words', () => {
  const rule = new RetryRule();
  const isRetryable = (error: unknown): boolean => rule.isRetryable(error);
  for (const message of PASSING) expect(isRetryable(new Error(message)), message).to.equal(true);
  for (const message of LASTING) {
    expect(isRetryable(new Error(message)), message).to.equal(false);
    expect(isRetryable(message), message).to.equal(false);
  }
  expect(isRetryable(new TypeError('Invalid argument type'))).to.equal(false);
  for (const thrown of [undefined, null, 'LOADING Redis', new AggregateError([new Error('x')])])
    expect(isRetryable(thrown)).to.equal(true);
});

describe('check of a server', () => {
  const KEYS = ['p:{n}:tickets', 'p:{n}:info'];

  it('looks at the clock twice beside a call, more often at a coarse clock, and never when another check replaces it', async () => {
    for (const times of [
      [1, 5],
      [5, 5, 5, 5, 5, 4],
    ]) {
      const looks: (readonly string[])[] = [];
      const check = new ServerCheck({
        runBySha: () => Promise.reject(new Error('NOSCRIPT')),
        runByText: async (_text, keys) => String((times[looks.push(keys) - 1] ?? 0) * 1000),
      });
      expect(check.passed).to.equal(false);
      expect(await check.confirm(Promise.resolve(7), KEYS)).to.equal(7);
      expect([check.passed, looks]).to.deep.equal([true, times.map(() => KEYS.slice(0, 1))]);
    }
    const connection = { ...failing(new Error('not to be called')), serverClock: () => 0 };
    expect(new ServerCheck(connection).passed).to.equal(true);
  });

  it('passes a coarse clock behind round trips that take longer than a stopped clock is given', async () => {
    const times = ['5000', '5000', '65000'];
    const clock = useFakeTimers({ toFake: ['performance'] });
    const check = new ServerCheck({
      runBySha: () => Promise.reject(new Error('NOSCRIPT')),
      runByText: () => {
        clock.tick(30);
        return Promise.resolve(times.shift());
      },
    });
    expect(await check.confirm(Promise.resolve(7), KEYS)).to.equal(7);
    expect(times).to.deep.equal([]);
  });

  it('names a server that refuses undeclared keys, only when the call has ended: a request withdrawn before that would be granted after it', async () => {
    const word = 'ERR Error running script: script tried accessing undeclared key';
    const check = new ServerCheck(failing(new Error(word)));
    const { promise: call, resolve: end } = later<number>();
    const refused = watch(new ManualClock(), check.confirm(call, KEYS));
    await turn();
    expect(refused.done).to.equal(false);
    end(1);
    await turn();
    expect(refused.error).to.be.instanceOf(UnfitServerError);
    expect(String(refused.error)).to.match(/allow-undeclared-keys$/);
    expect(check.passed).to.equal(false);
  });
});

describe('redis backend', () => {
  /** All scripts get this reply, from a server that passes its check. */
  function backend(reply: unknown, rest: Partial<RedisConnection> = {}) {
    const runBySha = () => Promise.resolve(reply);
    const runByText = (text: string) =>
      text === script('check-server').text ? nextTime() : runBySha();
    return new RedisBackend({ runBySha, runByText, ...rest });
  }

  const call = callOf('n', ['c.1']);
  const busy = `${NOW}|b`;

  it('lets semaphores of a server share calls, of a cluster not, and gets no message where it cannot subscribe', () => {
    const single = backend('');
    expect([single.laneOf, single.listen]).to.deep.equal([undefined, undefined]);
    const { laneOf } = backend('', { eachMaster: () => Promise.resolve([]) });
    const keys = ['p x', 'p y', 'q x', 'p x', 'p y', 'q x'].map((text) => text.split(' '));
    const lanes = keys.map(([prefix = '', name = '']) => laneOf?.({ prefix, name }));
    expect(lanes.slice(3)).to.deep.equal(lanes.slice(0, 3));
    expect(new Set(lanes)).to.have.property('size', 3);
  });

  it('sends nothing for no calls, reads a reply in bytes, and does not retry after the reply of another script, or with a closed client', async () => {
    const odd = backend('PONG '.repeat(10_000));
    const replies = await Promise.all([odd.acquire([]), odd.extend([]), odd.release([])]);
    expect(replies).to.deep.equal([[], [], []]);
    const [reply] = await backend(Buffer.from(busy)).acquire([call]);
    expect(reply?.verdicts).to.deep.equal([{ kind: 'busy' }]);
    const error = await errorOf(odd.acquire([call]), UnexpectedReplyError);
    expect(error.message).to.include('unexpected reply').and.include('answers another call');
    expect(error.message).to.have.length.below(300);
    expect(odd.isRetryable(error)).to.equal(false);
    const loading = new Error('LOADING x');
    expect(odd.isRetryable(loading)).to.equal(true);
    expect(backend('', { isClosed: () => true }).isRetryable(loading)).to.equal(false);
  });

  it('tries again while a server says that it is read-only, because a failover passes, but not for ever', async () => {
    const word = "READONLY You can't write against a read only replica.";
    const readOnly = new Error(`ERR Error running script: -${word}`);
    const asked = backend(busy);
    const fake = useFakeTimers({ toFake: ['performance'] });
    for (const pause of [0, 4000, 2000]) {
      fake.tick(pause);
      expect(asked.isRetryable(readOnly)).to.equal(pause !== 2000);
    }
    // The server was promoted; another failover comes long after.
    await asked.acquire([call]);
    fake.tick(60_000);
    expect(asked.isRetryable(new Error(word))).to.equal(true);
  });

  it('takes no notice of messages that concern other clients, or nothing, and hands on how its subscription is', () => {
    const told: unknown[] = [];
    const note = (what: unknown): void => void told.push(what);
    const heard = backend('', {
      subscribe: (channel, events) => {
        note(channel);
        const ended = 'another.1 revoked;client.2 revoked|n';
        for (const message of ['garbage', '', ended]) events.onMessage(message);
        events.onHealth(true);
        events.onFailed();
        return { close: () => Promise.resolve() };
      },
    });
    heard.listen?.('client', 'p', {
      onGrants: note,
      onEnded: note,
      onHealth: note,
      onFailed: () => note('failed'),
    });
    const ended = [{ id: 'client.2', reason: 'revoked' }];
    expect(told).to.deep.equal(['p:inbox:client', ended, true, 'failed']);
  });

  it('ends a subscription soon, whatever its close does', async () => {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const rejects = (): Promise<void> => Promise.reject(new Error('the client failed'));
    for (const close of [rejects, () => never<void>()]) {
      const heard = backend('', { subscribe: () => ({ close }) });
      const listening = heard.listen?.('client', 'p', { onGrants: () => {}, onHealth: () => {} });
      const closing = watch(new ManualClock(), listening?.close() ?? never());
      await clock.tickAsync(500);
      expect(closing).to.include({ done: true, error: undefined });
    }
    expect(clock.countTimers()).to.equal(0);
  });
});

describe('backend with replicas', () => {
  const granted: AcquireVerdict = { kind: 'granted', fencingToken: 7, slots: [0] };

  /** The replies of the server to acquire. Each wait leaves its answer to a test. */
  function replicated(atLeast: number, replies: string[], acknowledged?: number) {
    const waits: number[][] = [];
    const releases: string[] = [];
    const answers: ((count: number) => void)[] = [];
    const { withReplicas } = new RedisBackend({
      runBySha: async (sha1, keys, args) => {
        if (sha1 === acquire.script.sha1) return `${NOW}|${replies.shift()}`;
        if (sha1 === release.script.sha1) releases.push(args.join(' '));
        return [NOW, ...keys.filter((key) => key.endsWith('info')).map(() => '1')].join('|');
      },
      runByText: nextTime,
      replication: () => async (count, timeout) => {
        waits.push([count, timeout]);
        return acknowledged ?? new Promise((resolve) => answers.push(resolve));
      },
    });
    const backend = withReplicas?.({ atLeast, timeout: 100 }) as RedisBackend;
    return { backend, waits, releases, answers };
  }

  it('waits once for all that a call granted, and not where it granted nothing', async () => {
    const { backend, waits, releases } = replicated(1, ['0 7|b|0 7', 'b', '2'], 1);
    const calls = ['x', 'y', 'z'].map((name, i) => callOf(name, [`c.${i}`]));
    const verdicts = (await backend.acquire(calls)).map((reply) => reply.verdicts[0]);
    expect(verdicts).to.deep.equal([granted, { kind: 'busy' }, granted]);
    await backend.acquire([callOf('x', ['c.4'])]);
    const none = await backend.acquireTogether([callOf('x', ['c.5']), callOf('y', ['c.6'])]);
    expect([none, waits, releases]).to.deep.equal([undefined, [[1, 100]], []]);
  });

  it('gives back only a grant that too few replicas have, and rejects', async () => {
    const { backend, releases } = replicated(2, ['0 7;b|b|0 7', '0 7|0 7'], 1);
    const calls = [callOf('x', ['c.1', 'c.2']), callOf('y', ['c.3']), callOf('z', ['c.4'])];
    const error = await errorOf(backend.acquire(calls), Error);
    expect(error.message).to.equal(
      '1 of 2 replicas acknowledged the ticket within 100 ms; check INFO replication, or lower replicas.atLeast',
    );
    expect(backend.isRetryable(error)).to.equal(true);
    await errorOf(backend.acquireTogether([callOf('x', ['c.5']), callOf('y', ['c.6'])]), Error);
    expect(releases).to.deep.equal(['p:inbox: 1 c.1 c.4', 'p:inbox: 1 c.5 c.6']);
  });

  it('leaves a ticket to a later call for it, which is over or under way', async () => {
    for (const isOver of [false, true]) {
      const { backend, releases, answers } = replicated(1, ['0 7;1 8', '0 7']);
      const first = errorOf(backend.acquire([callOf('x', ['c.1', 'c.2'])]), Error);
      await turn();
      const second = backend.acquire([callOf('x', ['c.1'])]);
      await turn();
      const [answerFirst, answerSecond] = answers;
      if (isOver) {
        answerSecond?.(1);
        await second;
      }
      answerFirst?.(0);
      await first;
      expect(releases).to.deep.equal(['p:inbox: 1 c.2']);
      answerSecond?.(1);
      expect((await second)[0]?.verdicts).to.deep.equal([granted]);
    }
  });
});
