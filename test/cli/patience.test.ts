import { expect } from 'chai';
import { restore, useFakeTimers } from 'sinon';
import { UnavailableError } from '../../src/cli/failure.js';
import { within } from '../../src/cli/patience.js';

describe('patience of the command line', () => {
  const silent = new Promise<never>(() => undefined);

  /** What has become of a call, after what `pass` lets happen. */
  async function outcome(
    call: () => Promise<unknown>,
    pass: (clock: ReturnType<typeof useFakeTimers>) => Promise<unknown>,
  ): Promise<unknown> {
    const clock = useFakeTimers();
    let seen: unknown = 'pending';
    const note = (what: unknown): void => {
      seen = what;
    };
    call().then(note, note);
    await pass(clock);
    await clock.tickAsync(0);
    restore();
    return seen;
  }

  it('ends when the server has been silent for long enough', async () => {
    const call = () => within(5000, 'connecting', silent);
    expect(await outcome(call, (clock) => clock.tickAsync(4999))).to.equal('pending');
    expect(await outcome(call, (clock) => clock.tickAsync(5000)))
      .to.be.instanceOf(UnavailableError)
      .with.property('message', 'connecting: no answer within 5000 ms');
  });

  it('does not count the time in which the program did not run', async () => {
    const call = () => within(5000, 'connecting', silent);
    const starve = async (clock: ReturnType<typeof useFakeTimers>): Promise<void> => {
      // Each time the timers are a minute late.
      for (let i = 0; i < 20; i++) {
        clock.jump(60_000);
        await clock.tickAsync(0);
      }
    };
    expect(await outcome(call, starve)).to.equal('pending');
  });

  it('ends at the deadline however little the program ran', async () => {
    const call = () => within(5000, 'connecting', silent, 2000);
    expect(await outcome(call, async (clock) => clock.jump(2000)))
      .to.be.instanceOf(UnavailableError)
      .with.property('message', 'connecting: no answer within 2000 ms');
  });

  it('gives what the call gives, and leaves no timer behind', async () => {
    const clock = useFakeTimers();
    const refused = new Error('refused');
    const failing = within(5000, 'connecting', Promise.reject(refused)).catch(
      (error: unknown) => error,
    );
    expect(await within(5000, 'connecting', Promise.resolve(7))).to.equal(7);
    expect(await failing).to.equal(refused);
    await clock.tickAsync(0);
    expect(clock.countTimers()).to.equal(0);
  });
});
