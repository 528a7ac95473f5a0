import { expect } from 'chai';
import { EventEmitter, getEventListeners, on, once, setMaxListeners } from 'node:events';
import { inspect } from 'node:util';
import { stub } from 'sinon';

import { EmitterOnDemand } from '../../src/lazy-emitter.js';

/** What one does with an emitter, and what comes of it. */
type Use = (emitter: EventEmitter) => unknown;

/** Of an emitter that never had a listener. */
const UNHEARD: Readonly<Record<string, Use>> = {
  'emitting to nobody': (emitter) => emitter.emit('lost', 1),
  'emitting an error to nobody': (emitter) => thrownBy(() => emitter.emit('error', new Error('e'))),
  'counting listeners': (emitter) => [emitter.listenerCount('lost'), emitter.eventNames()],
  'listing listeners': (emitter) => [
    emitter.listeners('lost'),
    emitter.rawListeners('lost'),
    getEventListeners(emitter, 'lost'),
  ],
  'removing one that was never there': (emitter) => emitter.off('lost', () => {}) === emitter,
  'removing all': (emitter) => [
    emitter.removeAllListeners('lost') === emitter,
    emitter.removeAllListeners() === emitter,
  ],
  'asking how many listeners it may have': (emitter) => emitter.getMaxListeners(),
  'asking what it is': (emitter) => emitter instanceof EventEmitter,
};

/** Each notes in `told` what listeners hear. */
const HEARD: Readonly<Record<string, (emitter: EventEmitter, told: unknown[]) => unknown>> = {
  'on, once and in front': (emitter, told) => {
    emitter.on('lost', (...args: unknown[]) => told.push('on', ...args));
    emitter.once('lost', (...args: unknown[]) => told.push('once', ...args));
    emitter.prependListener('lost', () => told.push('in front'));
    emitter.prependOnceListener('lost', () => told.push('once in front'));
    return [emitter.emit('lost', 1, 2), emitter.emit('lost', 3), emitter.eventNames()];
  },
  'the emitter as this': (emitter, told) => {
    emitter.on('lost', function (this: unknown) {
      told.push(this === emitter);
    });
    return emitter.emit('lost');
  },
  'a listener that comes and goes, and another after it': (emitter, told) => {
    const first = (): unknown => told.push('first');
    emitter.on('lost', first).off('lost', first);
    const unheard = [emitter.emit('lost'), emitter.eventNames(), emitter.listenerCount('lost')];
    emitter.on('lost', () => told.push('second'));
    return [unheard, emitter.emit('lost'), emitter.removeAllListeners().emit('lost')];
  },
  'news of listeners': (emitter, told) => {
    emitter.on('newListener', (event) => told.push(`new ${String(event)}`));
    emitter.on('removeListener', (event) => told.push(`gone ${String(event)}`));
    emitter.once('lost', () => told.push('lost'));
    return [emitter.emit('lost'), emitter.emit('lost')];
  },
  'an error with a listener': (emitter, told) => {
    emitter.on('error', (error) => told.push(String(error)));
    return emitter.emit('error', new Error('heard'));
  },
  'events with symbols for names': (emitter, told) => {
    const name = Symbol.for('event');
    emitter.on(name, () => told.push('symbol'));
    return [emitter.emit(name), emitter.eventNames()];
  },
  'limits of its own': (emitter, told) => {
    emitter.setMaxListeners(3);
    told.push(emitter.getMaxListeners());
    setMaxListeners(4, emitter);
    return emitter.getMaxListeners();
  },
};

describe('an emitter that makes room when the first listener comes', () => {
  it('makes none before', () => {
    expect(Object.keys(new EmitterOnDemand())).to.deep.equal([]);
    expect(inspect(new EmitterOnDemand())).not.to.include('_events');
  });

  for (const [what, use] of Object.entries(UNHEARD)) {
    it(`is as Node's own for ${what}`, () => {
      const emitter = new EmitterOnDemand();
      expect(use(emitter)).to.deep.equal(use(new EventEmitter()));
      expect(Object.keys(emitter), 'still no room').to.deep.equal([]);
    });
  }

  for (const [what, use] of Object.entries(HEARD)) {
    it(`is as Node's own for ${what}`, () => {
      const outcomes = [new EmitterOnDemand(), new EventEmitter()].map((emitter) => {
        const told: unknown[] = [];
        return { value: use(emitter, told), told };
      });
      expect(outcomes[0]).to.deep.equal(outcomes[1]);
      expect(outcomes[0]?.told).not.to.be.empty;
    });
  }

  it('shares no listener with another', () => {
    const told: string[] = [];
    const [one, other] = [new EmitterOnDemand(), new EmitterOnDemand()];
    one.on('lost', () => told.push('one'));
    expect(other.emit('lost')).to.equal(false);
    other.on('lost', () => told.push('other'));
    one.emit('lost');
    expect(told).to.deep.equal(['one']);
    expect(new EventEmitter().eventNames()).to.deep.equal([]);
  });

  it('can be awaited by once() and iterated by on() of node:events', async () => {
    const emitter = new EmitterOnDemand();
    const [first, all] = [once(emitter, 'lost'), on(emitter, 'lost')];
    for (const value of [7, 8]) emitter.emit('lost', value);
    expect(await first).to.deep.equal([7]);
    expect((await all.next()).value).to.deep.equal([7]);
    expect((await all.next()).value).to.deep.equal([8]);
    const failing = once(emitter, 'released');
    const reason = new Error('failed');
    emitter.emit('error', reason);
    expect(await failing.catch((error: unknown) => error)).to.equal(reason);
    await all.return?.();
    expect(emitter.listenerCount('lost')).to.equal(0);
  });

  it('warns of more listeners than it may have', () => {
    const warn = stub(process, 'emitWarning');
    const emitter = new EmitterOnDemand();
    for (let i = 0; i < 10; i++) emitter.on('lost', () => {});
    expect(warn.callCount).to.equal(0);
    emitter.on('lost', () => {});
    expect(warn.firstCall.args[0]).to.include({ name: 'MaxListenersExceededWarning', emitter });
  });

  it('is a base of classes, with what Node has beside its constructor', () => {
    class Derived extends EmitterOnDemand {}
    const emitter = new Derived();
    expect(emitter).to.be.instanceOf(EmitterOnDemand);
    expect(emitter).to.be.instanceOf(EventEmitter);
    expect([emitter.constructor, inspect(emitter)]).to.deep.equal([Derived, 'Derived {}']);
    expect(Derived.defaultMaxListeners).to.equal(EventEmitter.defaultMaxListeners);
    expect(Derived).to.have.property('once', once);
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return String(error);
  }
}
