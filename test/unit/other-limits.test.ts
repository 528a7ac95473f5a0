import { expect } from 'chai';

import type { Backend } from '../../src/backend.js';
import { Semaphore } from '../../src/index.js';
import { ChannelLog } from '../telemetry/channel-log.js';
import { StubBackend } from './stub-backend.js';

const NAME = 'other limits';

describe('another limit under the same name', () => {
  let backend: StubBackend & Backend;
  let semaphore: Semaphore;
  let warnings: string[];
  let log: ChannelLog;
  let otherLimit: number | undefined;

  beforeEach(() => {
    backend = new StubBackend();
    otherLimit = undefined;
    backend.onAcquire = (call) => ({ ...backend.allBusy(call), otherLimit });
    backend.setLimit = (call) => {
      const { serverTime } = backend;
      return Promise.resolve({ serverTime, grants: [], storedLimit: call.newLimit });
    };
    semaphore = new Semaphore(backend, NAME, { limit: 5 });
    warnings = [];
    semaphore.on('warning', ({ message }) => warnings.push(message));
    log = new ChannelLog(NAME);
  });

  afterEach(() => log.end());

  const hear = async (limit: number | undefined): Promise<void> => {
    otherLimit = limit;
    await semaphore.tryAcquire();
    await backend.clock.advance(0);
  };

  it('is told of once, the first that was seen', async () => {
    for (const limit of [undefined, 3, undefined, 4, 3]) await hear(limit);
    expect(log.of('redsem:mismatch')).to.deep.equal([{ name: NAME, limit: 5, otherLimit: 3 }]);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.match(/limit 5 here and 3 elsewhere/);
  });

  it('is nothing to tell of where none was seen', async () => {
    await hear(undefined);
    expect(log.of('redsem:mismatch')).to.deep.equal([]);
    expect(warnings).to.deep.equal([]);
  });

  it('is forgotten when a limit is stored: one that is seen after that is told of again', async () => {
    await hear(3);
    await semaphore.setLimit(5);
    const later = new Semaphore(backend, NAME, { limit: 5 });
    const heard: string[] = [];
    later.on('warning', ({ message }) => heard.push(message));
    await later.tryAcquire();
    await backend.clock.advance(0);
    expect(heard).to.have.length(1);
    otherLimit = undefined;
    await semaphore.setLimit(5);
    const last = new Semaphore(backend, NAME, { limit: 5 });
    last.on('warning', () => expect.fail('told of a limit that is no more'));
    await last.tryAcquire();
    await backend.clock.advance(0);
    const told = log.of('redsem:mismatch').map((message) => message['otherLimit']);
    expect(told).to.deep.equal([3, 3]);
  });
});
