import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { eventually } from '../../test/support/eventually.js';
import { describeInBrowser, rowsOf, untilText } from './page-fixture.js';

describeInBrowser('the keyboard alone', (web) => {
  async function press(page: Page, ...keys: readonly string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key);
  }

  it('walks from the list through a semaphore and its changes, and back', async () => {
    for (const name of ['alpha', 'beta', 'gamma']) {
      const holder = await web().user(name, { limit: 2, label: `holder of ${name}` });
      await holder.acquire();
    }
    const { page, problems } = await web().open();
    await eventually(async () => (await rowsOf(page, 'semaphores')).length === 3);

    await press(page, '/');
    expect(await focused(page)).to.equal('filter');
    await page.keyboard.type('ALPH');
    await eventually(async () => (await rowsOf(page, 'semaphores')).length === 1);
    await press(page, 'Escape');
    await eventually(async () => (await rowsOf(page, 'semaphores')).length === 3);

    await press(page, 'ArrowDown');
    expect(await focused(page)).to.equal('semaphores');
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowUp');
    const [, chosen = ''] = /^busy (\w+)/.exec(await activeRow(page)) ?? [];
    expect(chosen).to.equal('beta');
    expect(await outlineOf(page), 'the active row is marked').to.match(/solid [12]/);
    await press(page, 'Enter');
    await untilText(page, '#detail-name', 'beta');
    await untilText(page, '#detail-held', '1');

    await press(page, 'l');
    expect(await focused(page)).to.equal('confirm-limit');
    await page.keyboard.type('4');
    await press(page, 'Enter');
    await untilText(page, '#detail-limit', '4');
    await press(page, 'p');
    expect(await focused(page), 'no is the first answer').to.equal('confirm-no');
    await press(page, 'Escape');

    await press(page, '?');
    await eventually(() => page.locator('#help').isVisible());
    await press(page, 'Escape');
    expect(await page.locator('#help').isVisible()).to.equal(false);

    await tabTo(page, 'holders');
    await press(page, 'Enter');
    await untilText(page, '#confirm-title', 'Revoke slot 0 of beta');
    await press(page, 'Tab', 'Enter');
    await untilText(page, '#note', 'holder of beta has lost its permit.');
    await press(page, 'Escape');
    await eventually(() => page.locator('#list').isVisible());
    expect(await focused(page)).to.equal('semaphores');
    expect(await activeRow(page)).to.match(/ beta /);
    expect(problems).to.deep.equal([]);
  });

  it('sees where it is: everything that Tab reaches has a mark', async () => {
    const { page } = await web().open({ name: 'alpha' });
    await untilText(page, '#detail-state', 'busy');
    const reached = new Set<string>();
    for (let step = 0; step < 12; step += 1) {
      await press(page, 'Tab');
      const at = await focused(page);
      if (at === '') continue;
      reached.add(at);
      expect(await outlineOf(page), at).to.match(/solid [12]/);
    }
    expect([...reached]).to.include.members(['set-limit', 'pause', 'holders', 'help-button']);
  });
});

async function tabTo(page: Page, id: string): Promise<void> {
  await eventually(async () => {
    await page.keyboard.press('Tab');
    return (await focused(page)) === id;
  });
}

function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    'document.activeElement === document.body ? "" : document.activeElement.id || document.activeElement.className',
  );
}

function activeRow(page: Page): Promise<string> {
  return page.evaluate<string>(
    `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))
      .innerText.replaceAll(/\\s+/g, ' ')`,
  );
}

/** The label of the focused element, or of its active row. */
function outlineOf(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const at = document.activeElement;
    const row = document.getElementById(at.getAttribute('aria-activedescendant') ?? '');
    const { outlineStyle, outlineWidth } = getComputedStyle(row ?? at);
    return outlineStyle + ' ' + outlineWidth;
  })()`);
}
