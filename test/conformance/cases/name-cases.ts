import { expect } from 'chai';

import type { CaseGroup } from '../case-group.js';

/** Each is another name, however alike they look. */
const NAMES: readonly string[] = [
  'a',
  'A',
  ' a',
  'a ',
  'a:tickets',
  '{',
  '}',
  '{}',
  '{a}',
  '{a',
  'a}',
  '{{a}}',
  '%7B',
  '%7b',
  '%7D',
  '%',
  '%25',
  '%257B',
  '\0',
  'a\0',
  '\0a',
  '\r\n',
  'a\r\nDEL a\r\n',
  '\n',
  '\u{1F600}',
  '\u{1F600}\u{1F600}',
  '\ufeffa',
  '\u00e9',
  'e\u0301',
  '\\',
  '\\'.repeat(500),
  '*',
  '?',
  '[a]',
  '"',
  "'",
  '|',
  ';',
  '__proto__',
  'constructor',
  'x'.repeat(511),
  'x'.repeat(512),
  `${'x'.repeat(511)}y`,
  `${'x'.repeat(511)}X`,
  '\u{1F600}'.repeat(128),
];

export const nameCases: CaseGroup = {
  title: 'names',
  cases: {
    'of any kind work, are kept as they are, and never meet [M 14, M 15, M 16, M 32]': async (
      scope,
    ) => {
      const prefix = scope.freshName();
      const semaphores = NAMES.map((name) => scope.semaphore({ prefix }, name));
      expect(semaphores.map(({ name }) => name)).to.deep.equal(NAMES);
      const handles = await Promise.all(semaphores.map((semaphore) => semaphore.tryAcquire()));
      expect(handles.map((handle) => handle?.name)).to.deep.equal(NAMES);
      const others = NAMES.map((name) => scope.elsewhere({ prefix }, name));
      const tried = await Promise.all(others.map((other) => other.tryAcquire()));
      expect(tried).to.deep.equal(NAMES.map(() => null));
      const states = await Promise.all(others.map((other) => other.inspect()));
      expect(states.map(({ name, held }) => [name, held])).to.deep.equal(
        NAMES.map((name) => [name, 1]),
      );
      const released = await Promise.all(handles.map(async (handle) => handle?.release()));
      expect(released).to.deep.equal(NAMES.map(() => true));
    },

    'of any kind can be waited for': async (scope) => {
      const prefix = scope.freshName();
      const retry = { min: 5, max: 20 };
      const names = ['{a}', '\0', '\u{1F600} \r\n', 'x'.repeat(512), '%7B:;|'];
      const waits = names.map(async (name) => {
        const holder = await scope.elsewhere({ prefix, retry }, name).acquire();
        const waiting = scope.semaphore({ prefix, retry }, name).acquire();
        await holder.release();
        return (await waiting).name;
      });
      expect(await Promise.all(waits)).to.deep.equal(names);
    },

    'with other prefixes are others [M 31, RS 31]': async (scope) => {
      const pairs: [prefix: string, name: string][] = [
        ['p', 'n'],
        ['P', 'n'],
        ['p:', 'n'],
        ['p', ':n'],
        ['pn', 'n'],
        ['p n', 'n'],
        ['p\0', 'n'],
        ['\u{1F600}', 'n'],
        ['x'.repeat(128), 'n'],
      ].map(([prefix = '', name = '']) => [`${scope.name}${prefix}`.slice(-128), name]);
      for (const [prefix, name] of pairs) {
        const handle = await scope.semaphore({ prefix }, name).tryAcquire();
        expect(handle, JSON.stringify([prefix, name])).to.include({ held: true });
      }
      for (const [prefix, name] of pairs) {
        expect(await scope.elsewhere({ prefix }, name).tryAcquire()).to.equal(null);
      }
    },

    'with another prefix can be waited for': async (scope) => {
      const options = { prefix: `${scope.name} \u{1F600}`, retry: { min: 5, max: 20 } };
      const holder = await scope.elsewhere(options).acquire();
      const waiting = scope.semaphore(options).acquire();
      await holder.release();
      expect(await waiting).to.include({ held: true });
    },

    'are independent [M 6, RS 31, O 3b, BQ 19]': async (scope) => {
      const names = Array.from({ length: 40 }, () => scope.freshName());
      const handles = await Promise.all(names.map((name) => scope.semaphore({}, name).acquire(0)));
      expect(handles.map(({ name }) => name)).to.deep.equal(names);
      const tries = await Promise.all(names.map((name) => scope.elsewhere({}, name).tryAcquire()));
      expect(tries.every((handle) => handle === null)).to.equal(true);
      await handles[7]?.release();
      const again = await Promise.all(names.map((name) => scope.elsewhere({}, name).tryAcquire()));
      expect(again.map((handle) => handle?.name).filter(Boolean)).to.deep.equal([names[7]]);
    },
  },
};
