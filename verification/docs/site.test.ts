import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, ContextOptions, Page } from 'playwright-core';
import { eventually } from '../../test/support/eventually.js';
import { ROOT, runProgram } from '../../test/tooling/run-program.js';
import { needPackages } from '../package/folder-packages.js';
import { launchChromium } from '../web/chromium.js';

const DESK: ContextOptions = { viewport: { width: 1280, height: 900 } };
const PHONE: ContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
};
const PAGES = 'index getting-started faq reference/options reference/errors explanation/comparison';

/** Samples, tables and pictures of which a part is cut off. */
const CUT_OFF = `[...document.querySelectorAll('.tsd-typography :is(pre, table, img)')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.textContent.slice(0, 60))`;
const WIDTH = 'document.scrollingElement.scrollWidth';
const TITLES = `[...document.querySelectorAll('#tsd-search-results li')]
  .map((each) => each.textContent)`;

describe('the site', () => {
  let browser: Browser | undefined;

  before('build it', async function () {
    await needPackages(this, 'site');
    const { code, stdout, stderr } = await runProgram(['npm', 'run', 'docs']);
    expect(code, stdout + stderr).to.equal(0);
    browser = await launchChromium(this);
  });
  after(() => browser?.close());

  async function open(name: string, options: ContextOptions): Promise<Page> {
    if (browser === undefined) throw new Error('only inside tests');
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(pathToFileURL(join(ROOT, 'site/html', `${name}.html`)).href);
    return page;
  }

  for (const name of PAGES.split(' ')) {
    it(`shows samples and tables of ${name} whole on a desktop, and fits a phone`, async () => {
      const page = await open(name, DESK);
      expect(await page.evaluate<string[]>(CUT_OFF)).to.deep.equal([]);
      const phone = await open(name, PHONE);
      expect(await phone.evaluate<number>(WIDTH)).to.equal(390);
    });
  }

  for (const [words, title] of [
    ['kubernetes', /Shutdown and deploys/],
    ['429', /Limit calls to an API|LLM gateway/],
    ['NOPERM', /Errors and warnings/],
    ['ttl', /Choosing ttl and limit/],
  ] as const) {
    it(`finds ${words} by its search`, async () => {
      const page = await open('index', DESK);
      await page.locator('#tsd-search-trigger').click();
      await page.keyboard.type(words);
      await eventually(async () => {
        const found = await page.evaluate<string[]>(TITLES);
        return found.some((each) => title.test(each));
      });
    });
  }
});
