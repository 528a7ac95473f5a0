import { config } from 'chai';
import type { Context, Test } from 'mocha';
import { restore } from 'sinon';
import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';

import { endTest } from './after-test.js';
import { endWaits } from './eventually.js';
import { killOwned } from './owned-processes.js';

const fatalWarnings = new Set(['MaxListenersExceededWarning', 'TimeoutOverflowWarning']);
const problems: Error[] = [];

// The output of a command says why a test failed: shown whole.
config.truncateThreshold = 0;

/** How long the process may take to end once the last test has, in milliseconds. */
const END_PATIENCE = 30_000;

function noteRejection(reason: unknown): void {
  problems.push(new Error(`unhandled rejection: ${inspect(reason)}`));
}

process.on('unhandledRejection', noteRejection);
process.on('warning', (warning) => {
  if (fatalWarnings.has(warning.name)) problems.push(warning);
});

/** Fails with the problems behind the test's back, once they had their chance to show. */
async function throwProblems(): Promise<void> {
  await turn();
  const found = problems.splice(0);
  if (found.length > 0) throw new AggregateError(found, found.map(String).join('\n'));
}

/** The check runs inside the test: an error in an `afterEach` hook would end the whole run. */
function checkInside(test: Test): void {
  const body = test.fn;
  if (body === undefined || body.length > 0) return;
  test.fn = async function checked(this: Context): Promise<void> {
    await Reflect.apply(body, this, []);
    await throwProblems();
  };
}

export const mochaHooks = {
  /** Where files run side by side, mocha removes these listeners after each. */
  beforeAll(): void {
    process.off('unhandledRejection', noteRejection).on('unhandledRejection', noteRejection);
  },
  beforeEach(this: Context): void {
    if (this.currentTest !== undefined) checkInside(this.currentTest);
  },
  async afterEach(this: Context): Promise<void> {
    await endTest();
    restore();
    const waits = endWaits();
    if (this.currentTest?.timedOut !== true) return;
    for (const what of waits) console.error('it still waited for:', what);
  },
  /** Where files run side by side, after each of them: it may be the last of this process. */
  async afterAll(): Promise<void> {
    killOwned();
    await throwProblems();
  },
};

/** A run whose tests are done ends by itself; else the resource that keeps it open is named. */
export function mochaGlobalTeardown(): void {
  const endAnyway = (): void => {
    const open = process.getActiveResourcesInfo().join(', ');
    console.error(`the tests are done, but this still keeps the process open: ${open}`);
    process.exit();
  };
  setTimeout(endAnyway, END_PATIENCE).unref();
}
