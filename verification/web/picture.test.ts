import { expect } from 'chai';
import type { Page } from 'playwright-core';

import type { Handle, Semaphore } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { timed } from '../support/timed.js';
import { describeInBrowser, rowsOf, textOf } from './page-fixture.js';

/** How far the picture may lag behind. */
const LAG_MS = 2000;
const KINDS = ['redis', 'ioredis', 'redis', 'ioredis'] as const;

describeInBrowser('the picture of four clients', (web) => {
  /** Each test has its own name. */
  function start(name: string): Promise<readonly Semaphore[]> {
    return Promise.all(
      KINDS.map((kind, nth) => web().user(name, { limit: 3, label: `client-${nth}` }, kind)),
    );
  }

  async function follows(page: Page, ...expected: readonly string[]): Promise<void> {
    const { took } = await timed(() =>
      eventually(async () => expect(await seen(page)).to.deep.equal(expected)),
    );
    expect(took, 'the lag of the picture').to.be.below(LAG_MS);
  }

  it('follows grants, the queue and releases in the list', async () => {
    const clients = await start('exports');
    const { page, problems } = await web().open();
    await clients[0]!.use(() => undefined);
    // The next SCAN finds the new name.
    await eventually(async () => expect(await seen(page)).to.deep.equal(['idle 0 / 3 0']));
    const handles: Handle[] = [];
    for (const [nth, expected] of ['busy 1 / 3 0', 'busy 2 / 3 0', 'full 3 / 3 0'].entries()) {
      handles.push(await clients[nth]!.acquire());
      await follows(page, expected);
    }
    const waiting = clients[3]!.acquire();
    await follows(page, 'full 3 / 3 1');
    await handles[0]!.release();
    const heir = await waiting;
    await follows(page, 'full 3 / 3 0');
    await heir.release();
    await follows(page, 'busy 2 / 3 0');
    expect(problems).to.deep.equal([]);
  });

  it('shows in detail the holder of each slot and the waiters', async () => {
    const clients = await start('held');
    const { page, problems } = await web().open({ name: 'held' });
    const holder = await clients[0]!.acquire({ permits: 2 });
    const second = await clients[1]!.acquire();
    const waiting = clients[2]!.acquire({ permits: 2 });
    await eventually(async () => {
      expect(await labels(page, 'holders')).to.deep.equal(['client-0', 'client-0', 'client-1']);
      expect(await labels(page, 'queue')).to.deep.equal(['client-2']);
    });
    expect(await page.locator('#strip .slot[data-state=held]').count()).to.equal(3);
    expect(await textOf(page, '#detail-held')).to.equal('3');
    expect(await page.locator('#charts .chart:first-child canvas').count()).to.equal(1);
    const tokens = await Promise.all([0, 1, 2].map((row) => cell(page, 'holders', row, 5)));
    expect(tokens.map(Number)).to.deep.equal([
      holder.fencingToken,
      holder.fencingToken,
      second.fencingToken,
    ]);
    expect(await cell(page, 'queue', 0, 5), 'permits').to.equal('2');
    await holder.release();
    const heir = await waiting;
    await eventually(async () => {
      expect(await labels(page, 'holders')).to.have.members(['client-1', 'client-2', 'client-2']);
      expect(await rowsOf(page, 'queue')).to.deep.equal([]);
    });
    await heir.release();
    await second.release();
    await eventually(async () => expect(await rowsOf(page, 'holders')).to.deep.equal([]));
    expect(await page.locator('#no-holders').isVisible()).to.equal(true);
    expect(problems).to.deep.equal([]);
  });
});

/** State, held, limit and waiting of each semaphore. */
async function seen(page: Page): Promise<string[]> {
  const rows = await rowsOf(page, 'semaphores');
  return rows.map((row) => row.replace(/^(\w+) \S+ (\S+ \/ \S+ \S+).*$/, '$1 $2'));
}

function labels(page: Page, table: string): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('#${table} .rows > .row:not([hidden]) > :nth-child(2)')]
      .map((label) => label.textContent)`,
  );
}

function cell(page: Page, table: string, row: number, column: number): Promise<string> {
  return textOf(page, `#${table}-row-${row} > :nth-child(${column})`);
}
