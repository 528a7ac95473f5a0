import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

import { eventually } from '../../test/support/eventually.js';
import { ROOT } from '../../test/tooling/run-program.js';
import { modulesOf } from '../package/folder-packages.js';
import { describeInBrowser, type OpenPage, rowsOf, untilLink, untilText } from './page-fixture.js';

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** `REDSEM_PICTURES=1 npm run verify -- web` renews the pictures of the documentation. */
const ARE_RENEWED = process.env['REDSEM_PICTURES'] !== undefined;

/** Semaphores: name, limit, and permits that are asked for. */
const USES = [
  ['exports', 4, 6],
  ['deploys', 1, 1],
  ['gpus:node-7', 8, 7],
  ['mail-out', 6, 2],
  ['pdf-render', 24, 20],
  ['thumbnails:eu', 64, 72],
] as const;

describeInBrowser('axe-core', (web) => {
  before('holders and waiters', async () => {
    for (const [name, limit, asked] of USES) {
      const used = await web().user(name, { limit, label: `${name}-worker`, ttl: 600_000 });
      for (let i = 0; i < asked; i += 1) used.acquire().catch(() => undefined);
    }
  });

  function open(colorScheme: 'light' | 'dark', name?: string): Promise<OpenPage> {
    const script = readFileSync(join(modulesOf('verification/web'), 'axe-core/axe.min.js'), 'utf8');
    return web().open({ colorScheme, script, ...(name === undefined ? {} : { name }) });
  }

  for (const scheme of ['light', 'dark'] as const) {
    const suffix = scheme === 'dark' ? '-dark' : '';
    it(`finds nothing in the list, ${scheme}`, async () => {
      const { page } = await open(scheme);
      await eventually(async () => (await rowsOf(page, 'semaphores')).length >= USES.length);
      await expectClean(page, `web-list${suffix}`);
      await page.keyboard.press('/');
      await page.keyboard.type('no such name');
      await eventually(() => page.locator('#no-match').isVisible());
      await expectClean(page);
    });

    it(`finds nothing in a semaphore's page and its dialogs, ${scheme}`, async () => {
      const { page } = await open(scheme, 'exports');
      await untilText(page, '#detail-waiting', '2');
      await expectClean(page, `web-detail${suffix}`);
      for (const key of ['l', 'p', '?']) {
        await page.keyboard.press(key);
        await expectClean(page);
        await page.keyboard.press('Escape');
      }
    });

    it(`finds nothing on a phone, ${scheme}`, async () => {
      const { page } = await open(scheme, 'exports');
      await page.setViewportSize({ width: 390, height: 844 });
      await untilText(page, '#detail-waiting', '2');
      await expectClean(page, `web-phone-detail${suffix}`);
      const wide = 'document.documentElement.scrollWidth > innerWidth';
      expect(await page.evaluate(wide), 'scrolls sideways').to.equal(false);
      await page.keyboard.press('Escape');
      await eventually(() => page.locator('#list').isVisible());
      await expectClean(page, `web-phone${suffix}`);
    });

    it(`finds nothing in groups, their shares and budgets, ${scheme}`, async () => {
      const budgets = { tokens: { amount: 100, per: 3_600_000 } };
      const shared = await web().user('shared', { limit: 1, groupLimit: 1, budgets }, 'redis');
      const holder = await shared.acquire({ cost: { tokens: 0 } });
      const asked = [shared.acquire({ group: 'a' }), shared.acquire({ group: 'b', weight: 3 })];
      const { page } = await open(scheme, 'shared');
      await untilText(page, '#detail-waiting', '2');
      expect(await rowsOf(page, 'groups')).to.deep.equal([
        'b 75 % 0 / 1 1',
        'a 25 % 0 / 1 1',
        '– 0 % 1 / 1 0',
      ]);
      expect(await rowsOf(page, 'budgets')).to.deep.equal(['tokens 0 / 100']);
      await expectClean(page);
      for (const one of asked) void one.then((handle) => handle.release());
      await holder.release();
      await Promise.all(asked);
    });

    it(`finds nothing in numbers that are stale, ${scheme}`, async () => {
      const { page } = await open(scheme, 'exports');
      await untilText(page, '#detail-waiting', '2');
      web().server.pause();
      try {
        await untilLink(page, 'No Redis');
        await expectClean(page);
      } finally {
        web().server.resume();
      }
    });
  }
});

/** Problems that axe-core calls minor are found, too. */
async function expectClean(page: Page, picture = ''): Promise<void> {
  // Colours are read while they change otherwise.
  await page.evaluate('Promise.all(document.getAnimations().map((one) => one.finished))');
  const found = await page.evaluate<Finding[]>('axe.run().then(({ violations }) => violations)');
  const lines = found.map(
    ({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
  );
  expect(lines).to.deep.equal([]);
  const path = join(ROOT, `docs/images/${picture}.png`);
  if (ARE_RENEWED && existsSync(path)) await page.screenshot({ path });
}
