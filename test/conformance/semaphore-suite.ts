/*
 * The conformance suite: what every backend and every client must do alike.
 *
 * To add a row (another backend, client, or way to connect):
 *   1. write a function in rows/ that gives a `Row`: a title, what it cannot do and why, and
 *      `open()`, which is called once and gives a connected target, a second client as another
 *      process would have, and access to the data;
 *   2. add it to verification/conformance/rows.test.ts, inside `describeWithServer` if it needs the
 *      server (all rows share one); a row that `npm test` should run, too, gets a file here.
 *
 * To add a case: put it under a title into a group in cases/. It gets a `Scope` with fresh names,
 * semaphores that are closed after it, and what its group needs. What it must not do: distinguish
 * rows (a group has `needs`), let its verdict depend on the speed of the machine, leave anything
 * behind (checked after each case).
 *
 * P1 to P9 in titles are the promises of the contract.
 */
import { readdirSync } from 'node:fs';

import type { Lacks, Passage, Place, Row } from './row.js';
import { type CaseGroup, type Run, Scope } from './scope.js';

/** The groups in these files of `cases/`. */
export async function groupsIn(...files: string[]): Promise<CaseGroup[]> {
  const modules = files.map(
    (file) => import(`./cases/${file}.js`) as Promise<Readonly<Record<string, CaseGroup>>>,
  );
  return (await Promise.all(modules)).flatMap((exported) => Object.values(exported));
}

const files = readdirSync(new URL('cases/', import.meta.url));
export const allGroups = await groupsIn(...files.map((file) => file.replace(/\.ts$/, '')));

export interface SuiteOptions {
  readonly groups?: readonly CaseGroup[];
  /** Gives a row whose clock is real the ability 'time'. */
  readonly passage?: Passage;
}

/** Defines the cases for one row; its title names what it cannot do. */
export function semaphoreSuite(row: Row, options: SuiteOptions = {}): void {
  const { groups = allGroups, passage = row.passage } = options;
  const lacks: Lacks = passage === undefined ? { time: 'npm run verify', ...row.lacks } : row.lacks;
  describe(row.title + withoutText(lacks), () => {
    let place: Place;
    before('open', async () => {
      place = Object.assign(await row.open(), { time: passage });
    });
    after('close', () => place?.close());
    for (const { title, needs, define } of groups) {
      if (needs.some((ability) => lacks[ability] !== undefined)) continue;
      describe(title, () => define((name, run) => it(name, () => runCase(run, place))));
    }
  });
}

async function runCase(run: Run, place: Place): Promise<void> {
  const scope = new Scope(place);
  try {
    await run(scope);
  } finally {
    await scope.end();
  }
  await scope.assertNothingLeft();
}

function withoutText(lacks: Lacks): string {
  const lacking = Object.entries(lacks).map(([ability, reason]) => `${ability}: ${reason}`);
  return lacking.length === 0 ? '' : ` (without ${lacking.join('; ')})`;
}
