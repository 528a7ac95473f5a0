import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { Semaphore } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { describeInBrowser, textOf, untilText } from './page-fixture.js';

const HOLDERS = 500;
const WAITERS = 5000;
const NAMES = 1000;
/** At most this many rows are in the page, however long the list is. */
const MOST_ROWS = 80;
const STEPS = 120;

interface Scrolled {
  /** Frames in which some part of the table had no row. */
  readonly gaps: number;
  readonly rows: number;
}

describeInBrowser('large ones', (web) => {
  let client: OpenClient;
  const semaphores: Semaphore[] = [];

  before(async () => {
    client = await openClient('redis', web().server.url);
  });
  after(async () => {
    await Promise.all(semaphores.map((one) => one.close()));
    await client.close();
  });

  function make(name: string, limit: number): Semaphore {
    const made = new Semaphore(client.target, name, { limit, ttl: 600_000, label: name });
    semaphores.push(made);
    return made;
  }

  async function expectNoGaps(page: Page, table: string): Promise<void> {
    const script = `(${scrollThrough})('${table}', ${STEPS})`;
    const { gaps, rows } = await page.evaluate<Scrolled>(script);
    expect(gaps, table).to.equal(0);
    expect(rows, table).to.be.below(MOST_ROWS);
  }

  it(`${HOLDERS} holders and ${WAITERS} waiters: every frame of a scroll has all its rows`, async () => {
    const busy = make('busy', HOLDERS);
    await Promise.all(Array.from({ length: HOLDERS }, () => busy.acquire()));
    for (let waiter = 0; waiter < WAITERS; waiter += 1) busy.acquire().catch(() => undefined);
    const { page, problems } = await web().open({ name: 'busy' });
    await untilText(page, '#queue-count', '5,000');
    await untilText(page, '#holders-count', '500');
    for (const table of ['queue', 'holders']) await expectNoGaps(page, table);
    expect(await textOf(page, '#queue .rows > [aria-rowindex="5001"] > :first-child')).to.equal(
      '5000',
    );
    expect(await page.locator('#strip .slot').count()).to.equal(HOLDERS);
    expect(problems).to.deep.equal([]);
  });

  it(`${NAMES} names: filtered while typing, scrolled without a gap`, async () => {
    const names = Array.from({ length: NAMES }, (_, nth) => `name-${nth}`);
    await Promise.all(names.map((name) => make(name, 3).acquire()));
    const { page, problems } = await web().open();
    await eventually(async () => /^1,00[01] /.test(await textOf(page, '#total-names')));
    await expectNoGaps(page, 'semaphores');
    await page.keyboard.press('/');
    await page.keyboard.type('me-77');
    await eventually(async () => (await textOf(page, '#total-names')).startsWith('11 of '));
    await page.keyboard.type('7');
    await eventually(async () => (await textOf(page, '#total-names')).startsWith('1 of '));
    expect(problems).to.deep.equal([]);
  });
});

/** Runs in the page. Scrolls a table from top to bottom, a step each frame, and looks at each. */
const scrollThrough = `async (table, steps) => {
  const grid = document.getElementById(table);
  grid.scrollIntoView({ block: 'nearest' });
  const body = grid.querySelector('.rows');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  let gaps = 0;
  for (let step = 1; step <= steps; step += 1) {
    grid.scrollTop = ((grid.scrollHeight - grid.clientHeight) * step) / steps;
    for (let passed = 0; passed < 2; passed += 1) await frame();
    const top = Math.max(0, grid.scrollTop);
    const bottom = Math.min(top + grid.clientHeight - body.offsetTop, body.offsetHeight);
    const start = body.getBoundingClientRect().top;
    const rows = [...body.children].filter((row) => !row.hidden).map((row) => {
      const { top: from, bottom: to } = row.getBoundingClientRect();
      return [from - start, to - start];
    });
    const covered = rows.filter(([from, to]) => to > top && from < bottom);
    const height = covered.reduce((sum, [from, to]) => sum + Math.min(to, bottom) - Math.max(from, top), 0);
    if (height < bottom - top - 1) gaps += 1;
  }
  return { gaps, rows: body.children.length };
}`;
