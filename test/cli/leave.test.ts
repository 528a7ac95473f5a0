import { expect } from 'chai';
import { useFakeTimers } from 'sinon';
import { closeAfter, giveBack } from '../../src/cli/commands/leave.js';

/** What a call to a server that hangs comes to. */
const never = <T>(): Promise<T> => new Promise(() => undefined);

describe('the end of redsem run', () => {
  it('tells what went wrong before it closes, and does not wait for a close that never ends', async () => {
    const clock = useFakeTimers();
    const events: unknown[] = [];
    const refused = new Error('refused');
    const code = closeAfter(
      {
        close: () => {
          events.push('close');
          return never();
        },
      },
      async (error) => {
        events.push(error);
        return 69;
      },
      () => Promise.reject(refused),
    );
    await clock.runAllAsync();
    expect(await code).to.equal(69);
    expect(events).to.deep.equal([refused, 'close']);
  });

  it('has the code of the work though closing fails', async () => {
    const close = () => Promise.reject(new Error('gone'));
    const tell = () => Promise.reject(new Error('nothing went wrong'));
    expect(await closeAfter({ close }, tell, async () => 3)).to.equal(3);
  });

  it('does not wait for a release that never ends', async () => {
    const clock = useFakeTimers();
    const warnings: string[] = [];
    const given = giveBack({ expiresIn: 20_000, release: never }, (message) =>
      warnings.push(message),
    );
    await clock.runAllAsync();
    // Nobody knows that it was lost.
    expect(await given).to.equal(true);
    expect(warnings.join()).to.match(
      /^warning: the permit may be free only when its ttl is over: /,
    );
  });

  it('knows of a permit that was lost', async () => {
    const release = async () => false;
    for (const expiresIn of [0, 20_000]) {
      expect(await giveBack({ expiresIn, release }, () => undefined)).to.equal(false);
    }
  });

  it('does not take a lease that ran out while it was given back for one that was lost before', async () => {
    const clock = useFakeTimers();
    const warnings: string[] = [];
    const release = async () => {
      await clock.tickAsync(200);
      return false;
    };
    const given = giveBack({ expiresIn: 200, release }, (message) => warnings.push(message));
    await clock.runAllAsync();
    expect(await given).to.equal(true);
    expect(warnings.join()).to.match(
      /^warning: the permit may be free only when its ttl is over: /,
    );
  });
});
