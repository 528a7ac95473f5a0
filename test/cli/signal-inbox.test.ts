import { expect } from 'chai';
import type { SinonStub } from 'sinon';
import { spy, stub } from 'sinon';
import { SignalInbox } from '../../src/cli/child/signal-inbox.js';

/** Nothing else in the test run hears of these, and none is really sent. */
describe('signals of redsem run', () => {
  let inbox: SignalInbox;
  let kill: SinonStub;
  let exit: SinonStub;

  beforeEach(() => {
    kill = stub(process, 'kill');
    exit = stub(process, 'exit');
    inbox = new SignalInbox();
  });

  afterEach(() => inbox.close());

  it('end the wait: the first one by a rejection, the second one the program', () => {
    expect(inbox.interrupted.aborted).to.equal(false);
    process.emit('SIGUSR2');
    expect(inbox.interrupted.reason)
      .to.be.instanceOf(Error)
      .with.property('message', 'interrupted by SIGUSR2');
    expect(inbox.interruptedBy).to.equal('SIGUSR2');
    expect(exit.callCount).to.equal(0);
    process.emit('SIGUSR1');
    // By the number of the one that came last.
    expect(exit.args).to.deep.equal([[138]]);
  });

  it('go to the command while one runs, and not any more once it has ended', () => {
    const [onSignal, onStop, onContinue] = [spy(), spy(), spy()];
    inbox.listen({ onSignal, onStop, onContinue });
    process.emit('SIGUSR2');
    process.emit('SIGTSTP');
    process.emit('SIGCONT');
    expect(onSignal.args).to.deep.equal([['SIGUSR2']]);
    expect([onStop.callCount, onContinue.callCount]).to.deep.equal([1, 1]);
    expect(inbox.interrupted.aborted).to.equal(false);
    inbox.stopListening();
    process.emit('SIGUSR2');
    expect(onSignal.callCount).to.equal(1);
    expect(inbox.interrupted.aborted).to.equal(true);
    expect([kill.callCount, exit.callCount]).to.deep.equal([0, 0]);
  });

  it('stop the program itself where there is no command', () => {
    process.emit('SIGTSTP');
    process.emit('SIGCONT');
    expect(kill.args).to.deep.equal([[process.pid, 'SIGSTOP']]);
    expect(inbox.interrupted.aborted).to.equal(false);
  });

  it('are as before when it is closed', () => {
    inbox.close();
    expect(process.listenerCount('SIGUSR2')).to.equal(0);
    expect(process.listenerCount('SIGTSTP')).to.equal(0);
  });
});
