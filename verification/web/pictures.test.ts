import { expect } from 'chai';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ContextOptions } from 'playwright-core';

import { eventually } from '../../test/support/eventually.js';
import { makeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { ROOT } from '../../test/tooling/run-program.js';
import { describeInBrowser, rowsOf, textOf } from './page-fixture.js';

/** `REDSEM_PICTURES=1 npm run verify -- web` renews the pictures of the documentation. */
const ARE_KEPT = process.env['REDSEM_PICTURES'] !== undefined;
/** The charts of the documentation should have something to show. */
const PLAYS_MS = ARE_KEPT ? 75_000 : 0;

/** Semaphores: name, limit, callers of each client, and milliseconds for which a caller holds. */
const USES = [
  ['partner-api', 10, 6, 700],
  ['gpus:node-7', 8, 1, 60_000],
  ['deploys', 1, 1, 40_000],
  ['mail-out', 8, 2, 90_000],
  ['exports:acme', 4, 1, 2500],
  ['pdf-render', 24, 3, 1500],
  ['thumbnails:eu', 64, 8, 400],
  ['search-index', 3, 1, 500],
] as const;
const [[SHOWN]] = USES;
const LABELS = ['api-7c9d:41', 'api-7c9d:42', 'render-eu:7', 'exporter-1:1203'];

const DESK = { viewport: { width: 1280, height: 620 } };
const TALL = { viewport: { width: 1280, height: 960 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const PICTURES: Readonly<Record<string, ContextOptions & { readonly name?: string }>> = {
  'web-list.png': DESK,
  'web-list-dark.png': { ...DESK, colorScheme: 'dark' },
  'web-detail.png': { ...TALL, name: SHOWN },
  'web-phone.png': PHONE,
  'web-phone-detail.png': { ...PHONE, name: SHOWN },
};

describeInBrowser('pictures', (web) => {
  const folder = ARE_KEPT ? join(ROOT, 'docs/images') : makeTemporaryFolder();

  before('four clients use the semaphores', async () => {
    for (const label of LABELS) {
      for (const [name, limit, callers, hold] of USES) {
        const semaphore = await web().user(name, { limit, label });
        const play = async (): Promise<void> => {
          // No two callers in step. The end of the test closes the semaphore.
          for (;;)
            await semaphore.use(() =>
              sleep(hold * (0.5 + Math.random()), undefined, { ref: false }),
            );
        };
        for (let i = 0; i < callers; i += 1) play().catch(() => undefined);
      }
    }
    // The view measures waits only for an open page.
    const { problems } = await web().open({ name: SHOWN });
    await sleep(PLAYS_MS);
    expect(problems).to.deep.equal([]);
  });

  for (const [file, look] of Object.entries(PICTURES)) {
    it(`${file} shows the clients at work`, async () => {
      // Without transitions every bar shows the numbers beside it.
      const { page, problems } = await web().open({ ...look, reducedMotion: 'reduce' });
      await eventually(async () => {
        if (look.name !== undefined) return Number(await textOf(page, '#detail-waiting')) > 0;
        return (await rowsOf(page, 'semaphores')).length === USES.length;
      });
      mkdirSync(folder, { recursive: true });
      const path = join(folder, file);
      await page.screenshot({ path });
      expect(statSync(path).size).to.be.within(10_000, 200_000);
      expect(problems).to.deep.equal([]);
    });
  }
});
