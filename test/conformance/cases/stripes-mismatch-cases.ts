import { expect } from 'chai';

import type { KeyedMutexOptions } from '../../../src/index.js';
import { KeyedMutex } from '../../../src/index.js';
import { asAnotherProcess } from '../another-process.js';
import { moment } from '../../support/moment.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import type { Scope } from '../scope.js';

/** A keyed mutex of another process, and the warnings that it gets from now on. */
class Process {
  readonly heard: string[] = [];
  readonly mutex: KeyedMutex;

  constructor(scope: Scope, options: KeyedMutexOptions) {
    this.mutex = new KeyedMutex(asAnotherProcess(scope.target), { name: scope.name, ...options });
  }

  listen(): this {
    this.mutex.on('warning', ({ code, message }) => this.heard.push(`${code}: ${message}`));
    return this;
  }

  async use(): Promise<void> {
    await this.mutex.use('key', () => undefined);
  }
}

async function untilWarnedOnce({ heard }: Process, why: RegExp): Promise<void> {
  await eventually(() => expect(heard).to.have.lengthOf(1));
  expect(heard[0])
    .to.match(/^STRIPES_MISMATCH: /)
    .and.match(why);
}

const DAY = 86_400_000;

export const stripesMismatchCases: CaseGroup = {
  title: 'keyed mutexes with different stripes',
  cases: {
    'get a warning, each one': async (scope) => {
      const first = new Process(scope, { stripes: 16 }).listen();
      await first.use();
      const second = new Process(scope, { stripes: 8 }).listen();
      await second.use();
      await untilWarnedOnce(second, /8 stripes here and 16 elsewhere/);
      await second.use();
      const third = new Process(scope, { stripes: 16 }).listen();
      await third.use();
      await untilWarnedOnce(third, /16 stripes here and 8 elsewhere/);
      expect(second.heard).to.have.lengthOf(1);
      expect(second.heard[0]).to.include(scope.name);
    },

    'get a warning of those that have none': async (scope) => {
      const first = new Process(scope, {}).listen();
      await first.use();
      const second = new Process(scope, { stripes: 8 }).listen();
      await second.use();
      await untilWarnedOnce(second, /8 stripes here and none elsewhere/);
      const third = new Process(scope, {}).listen();
      await third.use();
      await untilWarnedOnce(third, /no stripes here and 8 elsewhere/);
    },

    'get a warning when a listener comes only later': async (scope) => {
      await new Process(scope, { stripes: 16 }).use();
      const late = new Process(scope, { stripes: 8 });
      await late.use();
      late.listen();
      await eventually(async () => {
        await late.use();
        expect(late.heard).to.have.lengthOf(1);
      });
    },

    'get none where the number is the same, or the name or the prefix another': async (scope) => {
      const others: KeyedMutexOptions[] = [
        {},
        { name: scope.freshName(), stripes: 8 },
        { prefix: 'elsewhere', stripes: 8 },
      ];
      const processes = others.map((options) =>
        new Process(scope, { stripes: 16, ...options }).listen(),
      );
      for (const process of processes) await process.use();
      const last = new Process(scope, { stripes: 16 }).listen();
      await last.use();
      await moment(5);
      for (const { heard } of [...processes, last]) expect(heard).to.deep.equal([]);
    },

    'leave one key, for a day': needing('keys', async (scope) => {
      const { mutex } = new Process(scope, { stripes: 16 });
      await mutex.use('key', () => undefined);
      await eventually(async () => {
        const keys = await scope.ownKeys(`keyed:${scope.name}`);
        expect([...keys.keys()]).to.deep.equal(['stripes']);
        expect(keys.get('stripes')).to.be.within(DAY - 60_000, DAY);
      });
    }),
  },
};
