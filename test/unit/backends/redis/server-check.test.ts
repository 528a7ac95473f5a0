import { expect } from 'chai';

import { UnfitServerError } from '../../../../src/backends/unfit-server.js';
import { ServerCheck } from '../../../../src/backends/redis/server-check.js';
import { errorOf } from '../../../support/rejection.js';

const KEYS = ['p:{n}:tickets', 'p:{n}:info'];

describe('check of a server', () => {
  /** A server that answers with these times, the last one for ever. */
  function server(...times: number[]) {
    const looks: (readonly string[])[] = [];
    const check = new ServerCheck({
      runBySha: () => Promise.reject(new Error('NOSCRIPT')),
      runByText: (_text, keys) => {
        const time = times[Math.min(looks.length, times.length - 1)] ?? 0;
        looks.push(keys);
        return Promise.resolve(String(time * 1000));
      },
    });
    const confirm = (time: number) =>
      check.confirm(Promise.resolve({ time }), (reply) => reply.time, KEYS);
    return { check, looks, confirm };
  }

  it('looks at the clock once beside a call, more often at a coarse clock, and never when another check replaces it', async () => {
    const { check, looks, confirm } = server(5);
    expect(check.passed).to.equal(false);
    expect(await confirm(1)).to.deep.equal({ time: 1 });
    expect([check.passed, looks]).to.deep.equal([true, [['p:{n}:tickets']]]);
    const coarse = server(5, 5, 5, 4);
    expect(await coarse.confirm(5)).to.deep.equal({ time: 5 });
    expect([coarse.check.passed, coarse.looks.length]).to.deep.equal([true, 4]);
    const refuse = () => Promise.reject(new Error('not to be called'));
    const connection = { runBySha: refuse, runByText: refuse, serverClock: () => 0 };
    expect(new ServerCheck(connection).passed).to.equal(true);
  });

  it('refuses only when the call has ended: a request withdrawn before that would be granted after it', async () => {
    const fails = () => Promise.reject(new UnfitServerError('it is too old'));
    const check = new ServerCheck({ runBySha: fails, runByText: fails });
    const events: string[] = [];
    let end = (_time: number): void => {};
    const call = new Promise<number>((resolve) => (end = resolve));
    const refused = check
      .confirm(call, (time) => time, KEYS)
      .catch((error: unknown) => events.push(String(error)));
    await new Promise(setImmediate);
    events.push('the call ends');
    end(1);
    await refused;
    expect(events[0]).to.equal('the call ends');
    expect(events[1]).to.match(/it is too old$/);
  });

  it('names a server that refuses undeclared keys', async () => {
    const refuses = () =>
      Promise.reject(new Error('ERR Error running script: script tried accessing undeclared key'));
    const check = new ServerCheck({ runBySha: refuses, runByText: refuses });
    const refused = check.confirm(Promise.resolve(1), (time) => time, KEYS);
    expect(String(await errorOf(refused, UnfitServerError))).to.match(/allow-undeclared-keys$/);
    expect(check.passed).to.equal(false);
  });
});
