import { existsSync } from 'node:fs';

import type { Browser } from 'playwright-core';

import { canInstallPackages, installPackages } from '../../test/support/debian-packages.js';
import { needPackages } from '../package/folder-packages.js';

const PROGRAMS = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/google-chrome'];

function findChromium(): string | undefined {
  return PROGRAMS.find((path) => path !== undefined && existsSync(path));
}

/**
 * For a `before` hook: a Chromium of Debian, which is installed first where this process may do so.
 * Without one the tests are pending; in CI that is a failure.
 */
export async function launchChromium(context: Mocha.Context): Promise<Browser> {
  await needPackages(context, 'verification/web');
  if (findChromium() === undefined && canInstallPackages()) installPackages(['chromium']);
  const executablePath = findChromium();
  if (executablePath === undefined) {
    const problem = 'no chromium on this machine: have it in /usr/bin, or its path in CHROMIUM';
    if (process.env['CI'] === 'true') throw new Error(problem);
    console.error(`Skipped: ${problem}`);
    context.skip();
  }
  const { chromium } = await import('playwright-core');
  // A container has no user namespaces; nothing but our own page is opened.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}
