/*
 * The conformance suite: what every backend and every client must do alike.
 *
 * To add a row (another backend, client, or way to connect):
 *   1. write a function in rows/ that gives a `Row`: a title, and `open()`, which is called once and gives a
 *      connected target, a second client as another process would have, and access to the data underneath;
 *   2. add it to verification/conformance/rows.test.ts, inside `describeWithServer` if it needs the server (all rows share one); a row
 *      that `npm test` is to run, too, gets a file of its own here;
 *   3. if it cannot do something, say what and why in row-limits.ts. Nothing else knows about rows.
 *
 * To add a case: put it under a title into a group in cases/. It gets a `Scope` with names of its own, semaphores
 * that are closed after it, and, with `needing('time')`, time. What it must not do: tell rows apart (use `needing`), let its
 * verdict depend on the speed of the machine, leave anything behind (checked after each case).
 *
 * Marks in titles say where a behaviour was seen first: O the systems that this one replaces (rows of their list),
 * M the abstract cases of madelson/DistributedLock, RD Redisson, RS redis-semaphore, RL4 and RL5 redlock,
 * RU redlock-universal, BN bottleneck, BQ bullmq, SM simple-redis-mutex, SG syncguard, V @verrou/core,
 * AM async-mutex, AS async-sema; P1 to P9 and the failure table are this project's own contract.
 */
import { abortCases } from './cases/abort-cases.js';
import { acquireAllCases } from './cases/acquire-all-cases.js';
import { acquireArgumentCases } from './cases/acquire-argument-cases.js';
import { acquireCases } from './cases/acquire-cases.js';
import { adoptCases } from './cases/adopt-cases.js';
import { closeCases } from './cases/close-cases.js';
import { constructorArgumentCases } from './cases/constructor-argument-cases.js';
import { expiryCases } from './cases/expiry-cases.js';
import { extensionCases } from './cases/extension-cases.js';
import { fencingCases } from './cases/fencing-cases.js';
import { inspectCases } from './cases/inspect-cases.js';
import { keyCases } from './cases/key-cases.js';
import { keyedMutexCases } from './cases/keyed-mutex-cases.js';
import { limitChangeCases } from './cases/limit-change-cases.js';
import { limitMismatchCases } from './cases/limit-mismatch-cases.js';
import { loadCases } from './cases/load-cases.js';
import { lossCases } from './cases/loss-cases.js';
import { lossListenerCases } from './cases/loss-listener-cases.js';
import { mutexCases } from './cases/mutex-cases.js';
import { nameCases } from './cases/name-cases.js';
import { originCases } from './cases/origin-cases.js';
import { permitCases } from './cases/permit-cases.js';
import { releaseCases } from './cases/release-cases.js';
import { revokeCases } from './cases/revoke-cases.js';
import { serverFailureCases } from './cases/server-failure-cases.js';
import { serverRefusalCases } from './cases/server-refusal-cases.js';
import { sharingCases } from './cases/sharing-cases.js';
import { stripesMismatchCases } from './cases/stripes-mismatch-cases.js';
import { tryUseCases } from './cases/try-use-cases.js';
import { useCases } from './cases/use-cases.js';
import { waitingCases } from './cases/waiting-cases.js';
import type { CaseGroup, Run } from './case-group.js';
import { needsOf, runOf } from './case-group.js';
import { manualPassage } from './manual-passage.js';
import { limitsOf, NO_TIME } from './row-limits.js';
import type { Ability, Passage, Place, Row } from './row.js';
import { Scope } from './scope.js';

export const allGroups: readonly CaseGroup[] = [
  constructorArgumentCases,
  acquireArgumentCases,
  acquireCases,
  waitingCases,
  abortCases,
  permitCases,
  fencingCases,
  releaseCases,
  useCases,
  tryUseCases,
  extensionCases,
  expiryCases,
  lossCases,
  lossListenerCases,
  closeCases,
  inspectCases,
  limitChangeCases,
  limitMismatchCases,
  adoptCases,
  revokeCases,
  nameCases,
  sharingCases,
  keyCases,
  originCases,
  mutexCases,
  keyedMutexCases,
  stripesMismatchCases,
  acquireAllCases,
  loadCases,
  serverRefusalCases,
  serverFailureCases,
];

export interface SuiteOptions {
  readonly groups?: readonly CaseGroup[];
  /** Gives a row whose clock is real the ability 'time'. */
  readonly passage?: Passage;
}

/** Defines the cases for one row; those that it cannot do are named in its title instead. */
export function semaphoreSuite(row: Row, options: SuiteOptions = {}): void {
  const { groups = allGroups } = options;
  const passage = row.clock === undefined ? options.passage : manualPassage(row.clock);
  const limits = { ...(passage === undefined ? NO_TIME : {}), ...limitsOf(row.title) };
  const lacks = (ability: Ability): boolean => limits[ability] !== undefined;
  describe(row.title + withoutText(limits), () => {
    let place: Place | undefined;
    before('open', async () => {
      place = await row.open();
    });
    after('close', () => place?.close());
    for (const group of groups) {
      const possible = Object.entries(group.cases).filter(
        ([, entry]) => !needsOf(group, entry).some(lacks),
      );
      if (possible.length === 0) continue;
      describe(group.title, () => {
        for (const [name, entry] of possible) {
          it(name, () => runCase(runOf(entry), opened(place), passage));
        }
      });
    }
  });
}

/** The cases of these groups that let time pass. */
export function timeCases(groups: readonly CaseGroup[]): CaseGroup[] {
  return groups.map((group) => ({
    ...group,
    cases: Object.fromEntries(
      Object.entries(group.cases).filter(([, entry]) => needsOf(group, entry).includes('time')),
    ),
  }));
}

async function runCase(run: Run, place: Place, passage: Passage | undefined): Promise<void> {
  const scope = new Scope(place, passage);
  try {
    await run(scope);
  } finally {
    await scope.end();
  }
  await scope.assertNothingLeft();
}

function withoutText(limits: Partial<Record<Ability, string>>): string {
  const lacking = Object.entries(limits).map(([ability, reason]) => `${ability}: ${reason}`);
  return lacking.length === 0 ? '' : ` (without ${lacking.join('; ')})`;
}

function opened(place: Place | undefined): Place {
  if (place === undefined) throw new Error('the row was not opened');
  return place;
}
