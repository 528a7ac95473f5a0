import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

import { Judge } from '../../demo/judge.js';
import { JudgeServer, jobUrl } from '../../demo/judge-server.js';
import { prove } from '../../demo/proof.js';

const facts = {
  backend: '',
  crew: '',
  workers: 5,
  killing: 'none',
  lost: 0,
  problems: [],
} as const;

function visit(worker: number, slot: number, fencingToken = worker): Parameters<Judge['enter']>[0] {
  return { worker, slot, fencingToken };
}

describe('the judge of the demo', () => {
  it('is content with four at once, then four more', () => {
    const judge = new Judge(4);
    for (const round of [0, 1]) {
      const visits = [0, 1, 2, 3].map((slot) => visit(slot + 1, slot, round * 10 + slot + 1));
      for (const one of visits) judge.enter(one);
      for (const one of visits) judge.leave(one, 'answered');
    }
    expect(judge.violations()).to.deep.equal([]);
    expect(judge.served).to.equal(8);
    expect(prove({ ...facts, judge }).holds).to.equal(true);
  });

  it('sees a fifth', () => {
    const judge = new Judge(4);
    for (const slot of [0, 1, 2, 3, 4]) judge.enter(visit(slot + 1, slot));
    expect(judge.violations()).to.deep.equal(['peak in flight: 5, but only 4 are allowed']);
    expect(prove({ ...facts, judge }).holds).to.equal(false);
  });

  it('sees two with one slot', () => {
    const judge = new Judge(2);
    judge.enter(visit(1, 0, 10));
    judge.enter(visit(2, 0, 11));
    expect(judge.violations()).to.deep.equal(['workers 1 and 2 had slot 0 at once']);
  });

  it('sees a fencing token that does not rise in its slot', () => {
    const judge = new Judge(1);
    const first = visit(1, 0, 10);
    judge.enter(first);
    judge.leave(first, 'answered');
    judge.enter(visit(2, 0, 10));
    expect(judge.violations()).to.deep.equal(['slot 0: fencing token 10 came after 10']);
  });

  it('counts what arrives over HTTP', async () => {
    // All are there before the first is answered, also where the machine stands still for a while.
    const server = await JudgeServer.start(4, { fastest: 2000, slowest: 2001 });
    try {
      const urls = [0, 1, 2, 3, 4].map((slot) => jobUrl(server.url, visit(slot + 1, slot)));
      const answers = await Promise.all(urls.map(async (url) => (await fetch(url)).text()));
      expect(answers).to.deep.equal(['done', 'done', 'done', 'done', 'done']);
      expect(server.judge.peak).to.equal(5);
      expect(server.judge.inFlight).to.deep.equal([]);
    } finally {
      await server.stop();
    }
  });

  it('counts a request that it never answers until its connection closes', async () => {
    const server = await JudgeServer.start(1, { fastest: 1000, slowest: 1001 });
    const abort = new AbortController();
    try {
      const url = jobUrl(server.url, visit(1, 0));
      const request = fetch(url, { signal: abort.signal }).catch((error: unknown) => error);
      while (server.withholdNewest() === undefined) await sleep(5);
      await sleep(1200);
      expect(server.judge.inFlight).to.have.length(1);
      abort.abort();
      await request;
      while (server.judge.inFlight.length > 0) await sleep(5);
      expect(server.judge.cutOff).to.equal(1);
      expect(server.judge.served).to.equal(0);
    } finally {
      await server.stop();
    }
  });
});
