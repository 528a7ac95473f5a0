import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { eventually } from '../../test/support/eventually.js';
import { describeInBrowser, rowsOf, textOf, untilText } from './page-fixture.js';

describeInBrowser('changes from the page', (web) => {
  it('revoke: the holder loses its permit, and the next in the queue has it', async () => {
    const [first, second] = [
      await web().user('gpu', { limit: 1, label: 'old' }),
      await web().user('gpu', { limit: 1, label: 'new' }),
    ];
    const handle = await first.acquire();
    const lost = new Promise((resolve) => void handle.on('lost', resolve));
    const waiting = second.acquire();
    const { page, problems } = await web().open({ name: 'gpu' });
    await untilText(page, '#detail-waiting', '1');
    await page.locator('#holders .rows button').click();
    await page.locator('#confirm-no').click();
    for (const question of ['#set-limit', '#pause']) {
      await page.locator(question).click();
      await page.keyboard.press('Escape');
    }
    expect(await page.locator('#confirm').isVisible()).to.equal(false);
    expect(await textOf(page, '#detail-limit')).to.equal('1');
    expect(handle.held, 'a refusal changes nothing').to.equal(true);
    await page.locator('#holders .rows button').click();
    await eventually(async () =>
      /^old loses its permit \(ticket .*Next in the queue: new/.test(await effects(page)),
    );
    expect(await textOf(page, '#confirm')).to.include(handle.id);
    await page.locator('#confirm-yes').click();
    expect(await lost).to.include({ reason: 'revoked' });
    const heir = await waiting;
    await untilText(page, '#note', 'old has lost its permit.');
    await eventually(async () => (await rowsOf(page, 'holders'))[0]?.startsWith('0 new ') === true);
    await heir.release();
    expect(problems).to.deep.equal([]);
  });

  it('set the limit: waiters get what comes free', async () => {
    const pdf = await web().user('pdf', { limit: 1, label: 'a' });
    await pdf.acquire();
    const waiting = pdf.acquire();
    const { page, problems } = await web().open({ name: 'pdf' });
    await untilText(page, '#detail-waiting', '1');
    await page.locator('#set-limit').click();
    await page.locator('#confirm-limit').fill('3');
    await untilEffects(page, 'At most 1 waiting request will be granted at once.');
    await page.keyboard.press('Enter');
    await waiting;
    await untilText(page, '#note', 'pdf: the limit is 3 now.');
    await untilText(page, '#detail-limit', '3');
    await page.locator('#set-limit').click();
    await page.locator('#confirm-limit').fill('1');
    await untilEffects(page, 'Holders keep their permits: 2 are held now');
    await page.keyboard.press('Enter');
    await untilText(page, '#detail-state', 'over');
    expect(await textOf(page, '#detail-over')).to.equal('1 over the limit');
    expect(await page.locator('#strip .slot[data-state=over]').count()).to.equal(1);
    expect(problems).to.deep.equal([]);
  });

  it('refuse a value that is no limit before anything is sent', async () => {
    const { page, requests } = await web().open({ name: 'wrong' });
    await page.locator('#set-limit').click();
    for (const wrong of ['-1', '1.5', '']) {
      await page.locator('#confirm-limit').fill(wrong);
      await page.keyboard.press('Enter');
      expect(await effects(page), wrong).to.equal('');
      expect(await page.locator('#confirm').isVisible(), wrong).to.equal(true);
    }
    expect(requests.filter((url) => url.includes('api/limit'))).to.deep.equal([]);
  });

  it('pause and resume: no request is granted in between', async () => {
    const mail = await web().user('mail', { limit: 2, label: 'a' });
    const handle = await mail.acquire();
    const { page } = await web().open({ name: 'mail' });
    await untilText(page, '#detail-held', '1');
    await page.locator('#pause').click();
    await untilEffects(page, 'No request gets a permit until you set another limit.');
    await page.locator('#confirm-yes').click();
    await untilText(page, '#detail-state', 'paused');
    const waiting = mail.acquire();
    await untilText(page, '#detail-waiting', '1');
    await handle.release();
    await untilText(page, '#detail-held', '0');
    expect(await textOf(page, '#detail-waiting')).to.equal('1');
    await untilText(page, '#pause', 'Resume…');
    await page.locator('#pause').click();
    expect(await page.evaluate("document.querySelector('#confirm-limit').value")).to.equal('2');
    await page.locator('#confirm-yes').click();
    await waiting;
    await untilText(page, '#detail-state', 'busy');
  });
});

async function effects(page: Page): Promise<string> {
  return (await page.locator('#confirm-effects li').allInnerTexts()).join(' ');
}

/** They follow the numbers while the question is open. */
async function untilEffects(page: Page, text: string): Promise<void> {
  await eventually(async () => (await effects(page)).includes(text), text);
}
