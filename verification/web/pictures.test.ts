import { expect } from 'chai';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ContextOptions } from 'playwright-core';

import { eventually } from '../../test/support/eventually.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { ROOT } from '../../test/tooling/run-program.js';
import { describeInBrowser, textOf, untilText } from './page-fixture.js';
import { playScene, SCENE_NAME } from './scene.js';

/** `REDSEM_PICTURES=1 npm run verify -- web` renews the pictures of the documentation. */
const FOLDER = process.env['REDSEM_PICTURES'] === undefined ? undefined : join(ROOT, 'docs/images');
/** The charts of the documentation should have something to show. */
const PLAYS_MS = FOLDER === undefined ? 0 : 75_000;

interface Picture extends ContextOptions {
  readonly file: string;
  readonly name?: string;
}

const DESK = { width: 1280, height: 620 };
const TALL = { width: 1280, height: 960 };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } as const;

const PICTURES: readonly Picture[] = [
  { file: 'web-list.png', viewport: DESK },
  { file: 'web-list-dark.png', viewport: DESK, colorScheme: 'dark' },
  { file: 'web-detail.png', viewport: TALL, name: SCENE_NAME },
  { file: 'web-phone.png', ...PHONE },
  { file: 'web-phone-detail.png', ...PHONE, name: SCENE_NAME },
];

describeInBrowser('pictures', (web) => {
  const folder = FOLDER ?? makeTemporaryFolder();

  const over = new AbortController();

  before('a scene of four clients', async () => {
    await playScene(web(), over.signal);
    // The view measures waits only for an open page.
    const looked = await web().open({ name: SCENE_NAME });
    await sleep(PLAYS_MS);
    expect(looked.problems).to.deep.equal([]);
  });
  after(async () => {
    over.abort();
    if (FOLDER === undefined) await removeTemporaryFolder(folder);
  });

  for (const { file, name, ...look } of PICTURES) {
    it(`${file} shows the scene`, async () => {
      // Without transitions every bar shows the numbers beside it.
      const options = { ...look, reducedMotion: 'reduce' } as const;
      const { page, problems } = await web().open({ ...options, ...(name && { name }) });
      if (name === undefined) await untilText(page, '#total-names', '10 semaphores');
      else await eventually(async () => Number(await textOf(page, '#detail-waiting')) > 0);
      mkdirSync(folder, { recursive: true });
      const path = join(folder, file);
      await page.screenshot({ path });
      expect(statSync(path).size).to.be.within(10_000, 200_000);
      expect(problems).to.deep.equal([]);
    });
  }
});
