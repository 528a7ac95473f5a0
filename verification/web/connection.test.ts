import { expect } from 'chai';

import type { Semaphore } from '../../src/index.js';
import { type FaultProxy, startProxy } from '../support/fault-proxy.js';
import { pickLoopbackPort } from '../../test/support/loopback-port.js';
import { describeInBrowser, textOf, untilLink, untilText } from './page-fixture.js';
import { ViewProcess } from './view-process.js';

describeInBrowser('a lost connection', (web) => {
  let kept: Semaphore;

  before(async () => {
    kept = await web().user('kept', { limit: 5, label: 'holder' }, 'redis');
    await kept.acquire();
  });

  /** The grey of all numbers that are not of now. */
  const staleColor = "getComputedStyle(document.querySelector('main')).fontStyle";

  it('to the view shows, and heals by itself with the numbers of now', async () => {
    const { page } = await web().open({ name: 'kept' });
    await untilText(page, '#detail-held', '1');
    await web().view.kill();
    await untilLink(page, 'Disconnected');
    expect(await textOf(page, '#banner')).to.match(/^Connection lost: trying again\. Numbers/);
    expect(await page.evaluate(staleColor)).to.equal('italic');
    expect(await textOf(page, '#detail-held'), 'the last that was known').to.equal('1');
    await kept.acquire();
    await web().view.start();
    await untilLink(page, 'Live');
    await untilText(page, '#detail-held', '2');
    expect(await page.locator('#banner').isVisible()).to.equal(false);
    expect(await page.evaluate(staleColor)).to.equal('normal');
  });

  it('of the view to Redis shows, and heals', async () => {
    const { page } = await web().open();
    web().server.pause();
    try {
      await untilLink(page, 'No Redis');
      expect(await textOf(page, '#banner')).to.match(/^Redis does not answer\. Numbers are/);
      expect(await page.evaluate(staleColor)).to.equal('italic');
    } finally {
      web().server.resume();
    }
    await untilLink(page, 'Live');
    expect(await page.evaluate(staleColor)).to.equal('normal');
  });

  describe('that only hangs', () => {
    let proxy: FaultProxy;
    let view: ViewProcess;

    before('a view behind a proxy', async () => {
      const port = await pickLoopbackPort();
      proxy = await startProxy(port);
      const host = `127.0.0.1:${proxy.port}`;
      view = new ViewProcess(port, web().server.url, '--host', host);
      await view.start();
    });
    after(() => Promise.all([proxy.stop(), view.kill()]));

    it('makes the numbers look late first, then lost, and heals', async () => {
      const { page } = await web().open({ address: `http://127.0.0.1:${proxy.port}/` });
      proxy.hang(true);
      await untilLink(page, 'Late');
      expect(await page.evaluate(staleColor)).to.equal('italic');
      await untilLink(page, 'Disconnected');
      proxy.cut();
      proxy.hang(false);
      await untilLink(page, 'Live');
      expect(await page.evaluate(staleColor)).to.equal('normal');
    });
  });
});
