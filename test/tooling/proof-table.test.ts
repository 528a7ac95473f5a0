import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './run-program.js';

describe('table of where each promise is proven', () => {
  it('names files that exist', async () => {
    const page = await readFile(join(ROOT, 'docs/proof/where-each-promise-is-proven.md'), 'utf8');
    const [table = ''] = page.split('## Dropped on purpose');
    const rows = [...table.matchAll(/^\| `([^`|]+)` *\| ([^|]+?) *\|/gm)];
    expect(rows.length).to.be.above(200);
    const named = rows.flatMap(([, then = '', now = '']) =>
      now === 'the same'
        ? [then]
        : [...now.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, path]) => path),
    );
    expect(named.filter((path) => !existsSync(join(ROOT, path ?? '')))).to.deep.equal([]);
  });
});
