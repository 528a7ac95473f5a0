import { expect } from 'chai';

import { eventually } from '../../test/support/eventually.js';
import { describeInBrowser, textOf, untilText } from './page-fixture.js';
import { TOKEN } from './view-process.js';

const LABEL = '<script>window.attacked = true</script>';
const NAME = '<img src=x onerror="window.attacked = true">';

describeInBrowser('texts of others', (web) => {
  it('stay texts: a label that is a script, a name that is an image', async () => {
    const semaphore = await web().user(NAME, { limit: 1, label: LABEL });
    const handle = await semaphore.acquire();
    const waiting = semaphore.acquire();
    const { page, problems } = await web().open();
    await untilText(page, '#semaphores .rows .name', NAME);
    await page.locator('#semaphores .rows .name').click();
    await untilText(page, '#detail-name', NAME);
    await untilText(page, '#detail-waiting', '1');
    expect(await textOf(page, '#holders .rows .label')).to.equal(LABEL);
    expect(await textOf(page, '#queue .rows .label')).to.equal(LABEL);
    expect(await textOf(page, '#strip .slot-label')).to.equal(LABEL);
    await page.locator('#holders .rows button').click();
    expect(await textOf(page, '#confirm-effects')).to.include(`${LABEL} loses its permit`);
    await page.locator('#confirm-yes').click();
    await waiting;
    await untilText(page, '#note', `${LABEL} has lost its permit.`);
    expect(await page.evaluate('window.attacked')).to.equal(undefined);
    const made = 'document.querySelectorAll("main script, main img, dialog script").length';
    expect(await page.evaluate(made)).to.equal(0);
    expect(problems).to.deep.equal([]);
    await eventually(() => !handle.held);
  });
});

describeInBrowser('what the page sends', (web) => {
  it('goes to its own server only, and the token is in no address and no cookie', async () => {
    const { page, requests, problems } = await web().open();
    await eventually(() => page.locator('#no-semaphores').isVisible(), 'the empty list');
    const base = web().view.address;
    const paths = requests.map((url) => url.replace(base, ''));
    expect([...new Set(paths)]).to.have.members(['', 'style.css', 'app.js', 'api/events']);
    expect(requests.filter((url) => url.includes(TOKEN))).to.deep.equal([]);
    expect(await page.evaluate('document.cookie + localStorage.length')).to.equal('0');
    expect(problems).to.deep.equal([]);
  });

  it('asks again after a wrong token, and says so', async () => {
    const { page } = await web().open();
    await page.evaluate("sessionStorage.setItem('redsem-token', 'wrong'); location.reload()");
    await eventually(() => page.locator('#lock-wrong').isVisible());
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await untilText(page, '#link-word', 'Live');
  });
});
