import { expect } from 'chai';

import { runScript } from '../../../src/redis/run-script.js';

describe('running a script', () => {
  const script = { name: 'test', sha1: 'abc', text: 'return 1' };

  function connection(bySha: () => Promise<unknown>) {
    const calls: unknown[] = [];
    return {
      calls,
      runBySha: (...call: unknown[]) => {
        calls.push(call);
        return bySha();
      },
      runByText: (...call: unknown[]) => {
        calls.push(call);
        return Promise.resolve('by text');
      },
    };
  }

  it('takes one call when the server knows it', async () => {
    const port = connection(() => Promise.resolve('by sha'));
    expect(await runScript(port, script, ['k'], ['a'])).to.equal('by sha');
    expect(port.calls).to.deep.equal([['abc', ['k'], ['a']]]);
  });

  it('sends the text when the server does not, each time anew', async () => {
    const port = connection(() => Promise.reject(new Error('NOSCRIPT No matching script.')));
    expect(await runScript(port, script, ['k'], ['a'])).to.equal('by text');
    await runScript(port, script, ['k'], ['a']);
    expect(port.calls).to.deep.equal([
      ['abc', ['k'], ['a']],
      ['return 1', ['k'], ['a']],
      ['abc', ['k'], ['a']],
      ['return 1', ['k'], ['a']],
    ]);
  });

  for (const error of [
    new Error('ERR something NOSCRIPT'),
    new Error('Socket closed unexpectedly'),
    new TypeError('Invalid argument type'),
  ]) {
    it(`does not run it a second time after: ${String(error)}`, async () => {
      const port = connection(() => Promise.reject(error));
      const outcome = await runScript(port, script, [], []).catch((reason: unknown) => reason);
      expect(outcome).to.equal(error);
      expect(port.calls).to.have.length(1);
    });
  }
});
