import type { Browser, BrowserContext, ContextOptions, Page } from 'playwright-core';

import { Semaphore, type SemaphoreOptions } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import type { BothKinds } from '../../test/support/client-fixture.js';
import { pickLoopbackPort } from '../../test/support/loopback-port.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { launchChromium } from './chromium.js';
import { TOKEN, ViewProcess } from './view-process.js';

/** A page of the view, and the problems in it. */
export interface OpenPage {
  readonly page: Page;
  /** Errors, warnings and refusals by the content security policy. */
  readonly problems: string[];
  /** The addresses of all requests. */
  readonly requests: string[];
}

export interface WebFixture {
  readonly server: TestServer;
  readonly view: ViewProcess;
  /** Opens the view with its token and waits until it is live. */
  open(options?: OpenOptions): Promise<OpenPage>;
  /** A semaphore on a separate client; closed at the end. */
  user(name: string, options: SemaphoreOptions, kind?: BothKinds): Promise<Semaphore>;
}

interface OpenOptions extends ContextOptions {
  /** The semaphore whose page is opened; default: the list. */
  readonly name?: string;
  /** Where the view is; default: its own address. */
  readonly address?: string;
  /** A script that runs before the page's own. */
  readonly script?: string;
}

const DESK: ContextOptions = { viewport: { width: 1280, height: 800 } };

/** A `describe` with a Redis server, `redsem web` on it, and Chromium; pending where one lacks. */
export function describeInBrowser(title: string, body: (web: () => WebFixture) => void): void {
  describeWithServer(title, (server) => {
    let browser: Browser | undefined;
    let view: ViewProcess | undefined;
    const contexts: BrowserContext[] = [];
    const clients: OpenClient[] = [];
    const semaphores: Semaphore[] = [];

    before('start Chromium and the view', async function () {
      browser = await launchChromium(this);
      view = new ViewProcess(await pickLoopbackPort(), server().url, '--actions');
      await view.start();
    });
    afterEach('close pages', () => Promise.all(contexts.splice(0).map((one) => one.close())));
    after('stop all', async () => {
      await Promise.all([browser?.close(), view?.kill()]);
      await Promise.all(semaphores.map((semaphore) => semaphore.close()));
      await Promise.all(clients.map((client) => client.close()));
    });

    body(() => {
      if (browser === undefined || view === undefined) throw new Error('only inside tests');
      const { address } = view;
      const running = browser;
      return {
        server: server(),
        view,
        open: async (options = {}) => {
          const { name, address: other = address, script, ...look } = options;
          const context = await running.newContext({ ...DESK, ...look });
          contexts.push(context);
          const path = name === undefined ? '' : encodeURIComponent(name);
          return openPage(context, `${other}#/${path}`, script);
        },
        user: async (name, options, kind = 'ioredis') => {
          const client = await openClient(kind, server().url);
          const semaphore = new Semaphore(client.target, name, options);
          clients.push(client);
          semaphores.push(semaphore);
          return semaphore;
        },
      };
    });
  });
}

async function openPage(context: BrowserContext, url: string, script = ''): Promise<OpenPage> {
  const requests: string[] = [];
  const problems: string[] = [];
  context.on('request', (request) => requests.push(request.url()));
  await context.addInitScript({ content: `${REPORT_REFUSALS}${script}` });
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.stack ?? error.message));
  page.on('console', (message) => {
    if (message.type() !== 'log') problems.push(message.text());
  });
  await page.goto(url);
  await eventually(() => page.locator('#token').isVisible(), 'the page asks for the token');
  await page.keyboard.type(TOKEN);
  await page.keyboard.press('Enter');
  await untilLink(page, 'Live');
  // The browser itself reports the first reply, which asked for the token.
  problems.splice(0, problems.length, ...problems.filter((text) => !text.includes('401')));
  return { page, problems, requests };
}

const REPORT_REFUSALS =
  "addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective));";

/** Waits until the page says this of its connection. */
export async function untilLink(page: Page, word: string): Promise<void> {
  await untilText(page, '#link-word', word);
}

export async function untilText(page: Page, selector: string, text: string): Promise<void> {
  await eventually(async () => {
    const shown = await textOf(page, selector);
    if (shown !== text) throw new Error(`${selector} shows "${shown}", expected "${text}"`);
    return true;
  });
}

/** The visible text of the first element, in one line. */
export async function textOf(page: Page, selector: string): Promise<string> {
  const [text = ''] = await page.locator(selector).allInnerTexts();
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The visible rows of a table, from top to bottom, each in one line. */
export async function rowsOf(page: Page, table: string): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('#${table} .rows > .row')]
    .filter((row) => !row.hidden)
    .map((row) => row.innerText.replaceAll(/\\s+/g, ' ').trim())`);
}
