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
 * semaphores that are closed after it, and, with `needing('time')`, time. What it must not do:
 * distinguish rows (use `needing`), let its verdict depend on the speed of the machine, leave
 * anything behind (checked after each case).
 *
 * P1 to P9 in titles are the promises of the contract.
 */
import { readdirSync } from 'node:fs';

import { type CaseGroup, casesOf, type Run } from './case-group.js';
import type { Ability, Lacks, Passage, Place, Row } from './row.js';
import { Scope } from './scope.js';

const FOLDER = new URL('cases/', import.meta.url);
const imports = readdirSync(FOLDER).map((name) => {
  const file = new URL(name.replace(/\.ts$/, '.js'), FOLDER);
  return import(file.href) as Promise<Readonly<Record<string, CaseGroup>>>;
});

/** Each group in a file of `cases/`. */
export const allGroups: ReadonlySet<CaseGroup> = new Set(
  (await Promise.all(imports)).flatMap((exported) => Object.values(exported)),
);

export interface SuiteOptions {
  readonly groups?: Iterable<CaseGroup>;
  /** Gives a row whose clock is real the ability 'time'. */
  readonly passage?: Passage;
  /** Only the cases that need this. */
  readonly only?: Ability;
}

/** Defines the cases for one row; its title names what it cannot do. */
export function semaphoreSuite(row: Row, options: SuiteOptions = {}): void {
  const { groups = allGroups, passage = row.passage, only } = options;
  const lacks: Lacks = {
    ...(passage === undefined ? { time: 'npm run verify' } : {}),
    ...row.lacks,
  };
  describe(row.title + withoutText(lacks), () => {
    let place: Place | undefined;
    before('open', async () => {
      place = await row.open();
    });
    after('close', () => place?.close());
    for (const group of groups) {
      const cases = casesOf(group).filter(
        ({ needs }) =>
          !needs.some((ability) => lacks[ability] !== undefined) &&
          (only === undefined || needs.includes(only)),
      );
      if (cases.length === 0) continue;
      describe(group.title, () => {
        for (const { title, run } of cases) it(title, () => runCase(run, place, passage));
      });
    }
  });
}

async function runCase(run: Run, place: Place | undefined, passage?: Passage): Promise<void> {
  if (place === undefined) throw new Error('the row was not opened');
  const scope = new Scope(place, passage);
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
