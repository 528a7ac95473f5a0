import { expect } from 'chai';

import type { Semaphore } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';

/** Each is another name, however alike they look. */
const NAMES: readonly string[] = [
  ['a', 'A', ' a', 'a ', 'a:tickets', '\ufeffa', '\u00e9', 'e\u0301', '\\', '\\'.repeat(500)],
  ['{', '}', '{}', '{a}', '{a', 'a}', '{{a}}', '%7B', '%7b', '%7D', '%', '%25', '%257B'],
  ['\0', 'a\0', '\0a', '\n', '\r\n', 'a\r\nDEL a\r\n', '\u{1F600}', '\u{1F600}\u{1F600}'],
  ['*', '?', '[a]', '"', "'", '|', ';', '__proto__', 'constructor', '\u{1F600}'.repeat(128)],
  ['x'.repeat(511), 'x'.repeat(512), `${'x'.repeat(511)}y`, `${'x'.repeat(511)}X`],
].flat();
const PREFIXES = ['p', 'P', 'p:', 'pn', 'p n', 'p\0', '\u{1F600}', 'x'.repeat(128)];

/** Whose permit was free. */
async function takenOf(semaphores: readonly Semaphore[]): Promise<string[]> {
  const handles = await Promise.all(semaphores.map((semaphore) => semaphore.tryAcquire()));
  return handles.flatMap((handle) => handle?.name ?? []);
}

/** [M 3, M 6, M 14-16, M 31, M 32, RS 16, RS 31, RS#249, O 1e, O 3b, BQ 19, V, upstash/lock#16] */
export const sharingCases: CaseGroup = {
  title: 'names, prefixes and objects',
  cases: {
    'names of any kind work, are kept as they are, and never meet': async (scope) => {
      const prefix = scope.freshName();
      const semaphores = NAMES.map((name) => scope.semaphore({ prefix }, name));
      const others = NAMES.map((name) => scope.elsewhere({ prefix }, name));
      expect(semaphores.map(({ name }) => name)).to.deep.equal(NAMES);
      expect(await takenOf(semaphores)).to.deep.equal(NAMES);
      expect(await takenOf(others)).to.deep.equal([]);
      const states = await Promise.all(others.map((other) => other.inspect()));
      const shown = states.map(({ name, held }) => [name, held]);
      expect(shown).to.deep.equal(NAMES.map((name) => [name, 1]));
      await semaphores[7]?.close();
      expect(await takenOf(others)).to.deep.equal([NAMES[7]]);
    },

    'names and prefixes of any kind can be waited for': async (scope) => {
      const prefix = `${scope.name} \u{1F600}`;
      const names = ['{a}', '\0', '\u{1F600} \r\n', 'x'.repeat(512), '%7B:;|'];
      const waits = names.map(async (name) => {
        const [here, there] = scope.pair({ prefix }, name);
        const holder = await there.acquire();
        const waiting = here.acquire();
        await holder.release();
        return (await waiting).name;
      });
      expect(await Promise.all(waits)).to.deep.equal(names);
    },

    'names with other prefixes are others': async (scope) => {
      const keys = [...PREFIXES.map((prefix) => [prefix, 'n']), ['p', ':n']];
      const semaphores = keys.map(([prefix = '', name]) =>
        scope.pair({ prefix: `${scope.name}${prefix}`.slice(-128) }, name),
      );
      const all = keys.map(([, name]) => name);
      expect(await takenOf(semaphores.map(([here]) => here))).to.deep.equal(all);
      expect(await takenOf(semaphores.map(([, there]) => there))).to.deep.equal([]);
    },

    'handles travel as plain data': async (scope) => {
      const handle = await scope.semaphore({ limit: 3 }).acquire({ permits: 2 });
      const { name, id, fencingToken } = handle;
      const data: unknown = JSON.parse(JSON.stringify({ job: 5, handle }));
      expect(data).to.deep.equal({ job: 5, handle: { name, id, slots: [0, 1], fencingToken } });
    },
  },
};
