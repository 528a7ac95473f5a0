import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { eventually } from '../../test/support/eventually.js';
import { describeInBrowser, rowsOf, textOf, untilText } from './page-fixture.js';
import type { UserProcess } from './user-process.js';

describeInBrowser('changes from the page', (web) => {
  const start = (name: string, limit: number, label: string): Promise<UserProcess> =>
    web().user({ name, limit, label });

  it('revoke: the holder loses its permit, and the next in the queue has it', async () => {
    const [first, second] = await Promise.all([start('gpu', 1, 'old'), start('gpu', 1, 'new')]);
    const { id } = await first.ask('acquire', 1);
    const waiting = second.ask('acquire', 1);
    const { page, problems } = await web().open({ name: 'gpu' });
    await untilText(page, '#detail-waiting', '1');
    await page.locator('#holders .rows button').click();
    await eventually(async () =>
      /^old loses its permit \(ticket .*Next in the queue: new/.test(await effects(page)),
    );
    expect(await textOf(page, '#confirm')).to.include(id);
    await page.locator('#confirm-yes').click();
    expect(await first.nextLoss()).to.include({ id, reason: 'revoked' });
    const heir = await waiting;
    await untilText(page, '#note', 'old has lost its permit.');
    await eventually(async () => (await rowsOf(page, 'holders'))[0]?.startsWith('0 new ') === true);
    await second.ask('release', heir.id);
    expect(problems).to.deep.equal([]);
  });

  it('do nothing when the answer is no', async () => {
    const holder = await start('kept', 1, 'kept');
    const { id } = await holder.ask('acquire', 1);
    const { page } = await web().open({ name: 'kept' });
    await untilText(page, '#detail-held', '1');
    await page.locator('#holders .rows button').click();
    await page.locator('#confirm-no').click();
    await page.locator('#set-limit').click();
    await page.keyboard.press('Escape');
    await page.locator('#pause').click();
    await page.keyboard.press('Escape');
    expect(await page.locator('#confirm').isVisible()).to.equal(false);
    expect(await holder.ask('release', id), 'it was held until now').to.equal(true);
    expect(holder.worker.messages.map(({ type }) => type)).to.not.include('lost');
    expect(await textOf(page, '#detail-limit')).to.equal('1');
  });

  it('set the limit: waiters get what comes free', async () => {
    const [first, second] = await Promise.all([start('pdf', 1, 'a'), start('pdf', 1, 'b')]);
    await first.ask('acquire', 1);
    const waiting = second.ask('acquire', 1);
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
    const [first, second] = await Promise.all([start('mail', 2, 'a'), start('mail', 2, 'b')]);
    const { id } = await first.ask('acquire', 1);
    const { page } = await web().open({ name: 'mail' });
    await untilText(page, '#detail-held', '1');
    await page.locator('#pause').click();
    await untilEffects(page, 'No request gets a permit until you set another limit.');
    await page.locator('#confirm-yes').click();
    await untilText(page, '#detail-state', 'paused');
    const waiting = second.ask('acquire', 1);
    await untilText(page, '#detail-waiting', '1');
    await first.ask('release', id);
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
