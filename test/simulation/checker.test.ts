import { expect } from 'chai';

import { Checker } from '../../verification/simulation/checker/checker.js';
import type { HistoryEvent, QueueGrant } from '../../verification/history/events.js';

/** What a checker says of a history with one semaphore of one permit and a ttl of one second. */
function rulesOf(...events: readonly HistoryEvent[]): string[] {
  const checker = new Checker();
  const semaphores = [{ name: 'pool', limit: 1, ttl: 1000 }];
  checker.read({ at: 0, process: 'world', type: 'run', nodes: 1, semaphores });
  for (const event of events) checker.read(event);
  return checker.violations.map(({ rule }) => rule);
}

const about = { process: 'server', semaphore: 'pool', grants: [] };

function fault(at: number, kind: string, process: string): HistoryEvent {
  return {
    at,
    process: 'world',
    type: 'fault',
    fault: 0,
    kind,
    phase: 'begin',
    targets: [process],
  };
}

function stepped(at: number, step: number): HistoryEvent {
  return { at, process: 'server', type: 'server', change: 'stepped', step };
}

function granted(at: number, time: number, token: number, id = 'one.1'): HistoryEvent {
  const request = { id, permits: 1, wait: true, verdict: 'granted', token, slots: [0] };
  const call = { operation: 'acquire', client: 'p1', ttl: 9000, requests: [request] };
  return { ...about, ...call, at, time, type: 'served' };
}

function queued(at: number, time: number): HistoryEvent {
  const request = { id: 'one.1', permits: 1, wait: true, verdict: 'queued', place: 1 };
  const call = { operation: 'acquire', client: 'p1', ttl: 1000, requests: [request] };
  return { ...about, ...call, at, time, type: 'served' };
}

function has(at: number, token: number, until: number): HistoryEvent {
  const ticket = { semaphore: 'pool', id: 'one.1', slots: [0], token, until };
  return { at, process: 'p1', type: 'ok', call: 1, tickets: [ticket] };
}

describe('the checker of histories', () => {
  describe('of a setLimit that acts after it has failed', () => {
    const calls: readonly HistoryEvent[] = [
      {
        at: 20_000,
        process: 'p1',
        type: 'invoke',
        call: 1,
        operation: 'try',
        semaphores: ['pool'],
      },
      { at: 20_001, process: 'p1', type: 'ok', call: 1 },
      fault(20_002, 'lose-replies', 'p1'),
      {
        at: 20_003,
        process: 'p1',
        type: 'invoke',
        call: 2,
        operation: 'set-limit',
        semaphores: ['pool'],
      },
      { at: 21_003, process: 'p1', type: 'unknown', call: 2, error: 'BackendError' },
    ];
    const acts: HistoryEvent = {
      ...about,
      at: 26_000,
      type: 'served',
      operation: 'setLimit',
      client: 'p1',
      time: 26_000,
      notAfter: 27_000,
      newLimit: 1,
    };

    it('says so', () => {
      expect(rulesOf(...calls, acts)).to.deep.equal(['late-effect']);
    });

    it('says nothing where a call of its process took as long to arrive', () => {
      const released = { operation: 'release', client: 'p1', tickets: [] };
      const slow: HistoryEvent = {
        ...about,
        ...released,
        at: 5000,
        time: 5000,
        sent: 1000,
        type: 'served',
      };
      expect(rulesOf(slow, ...calls, acts)).to.deep.equal([]);
      expect(rulesOf({ ...slow, unheard: true }, ...calls, acts)).to.deep.equal(['late-effect']);
      expect(rulesOf({ ...slow, client: 'p2' }, ...calls, acts)).to.deep.equal(['late-effect']);
    });

    it('says nothing once its process was killed', () => {
      expect(rulesOf(...calls, fault(25_000, 'kill-process', 'p1'), acts)).to.deep.equal([]);
    });
  });

  it('finds a holder that believes in a lost ticket, unless the same token was given again', () => {
    const lost: HistoryEvent = { at: 120, process: 'server', type: 'server', change: 'empty' };
    const before = [granted(100, 100, 5), has(101, 5, 1090), stepped(110, -50), lost];
    const held: HistoryEvent = {
      at: 801,
      process: 'p1',
      type: 'held',
      ticket: 'one.1',
      token: 5,
      until: 1790,
    };
    expect(rulesOf(...before, granted(800, 750, 6), held)).to.deep.equal(['lost-silently']);
    expect(rulesOf(...before, granted(800, 750, 5), held)).to.deep.equal([]);
  });

  it('lets a grant seem younger than it is while news of the clock are on their way', () => {
    const tickets = [{ id: 'two.1', there: true }];
    const grantedAt = (at: number): readonly HistoryEvent[] => {
      const grant: QueueGrant = {
        id: 'one.1',
        token: 5,
        slots: [0],
        expiresAt: at + 4000,
        heard: true,
      };
      const released = { operation: 'release', client: 'p2', tickets, grants: [grant] };
      return [
        { ...about, ...released, at, time: at + 3000, type: 'served' },
        has(at + 300, 5, at + 1290),
      ];
    };
    const waits = [granted(50, 50, 4, 'two.1'), queued(100, 100), stepped(200, 3000)];
    expect(rulesOf(...waits, ...grantedAt(300))).to.deep.equal([]);
    expect(rulesOf(...waits, queued(250, 3250), ...grantedAt(1000))).to.deep.equal([]);
    const known = [...waits, queued(250, 3250), queued(2200, 5200)];
    expect(rulesOf(...known, ...grantedAt(2300))).to.deep.equal(['certainty']);
  });
});
