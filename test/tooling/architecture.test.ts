import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { importsOf } from './imports.js';
import { ROOT } from './run-program.js';

interface Step {
  readonly depth: number;
  readonly file: string;
  readonly isPort: boolean;
}

const page = readFileSync(join(ROOT, 'docs/explanation/architecture.md'), 'utf8');
const walks = [...page.matchAll(/^```walk (\S+)\n([^`]*)^```/gm)].map(
  ([, name = '', lines = '']) => ({ name, steps: lines.trimEnd().split('\n').map(stepOf) }),
);

function stepOf(line: string): Step {
  const file = line.trim().replace(/^port /, '');
  return { depth: line.search(/\S/), file, isPort: line.trim().startsWith('port ') };
}

const imports = (from: string): string[] =>
  importsOf(from, readFileSync(join(ROOT, 'src', from), 'utf8')).map(([, to]) => to);

/** A step that neither the step above it imports nor, under a port, imports the port. */
function isWrong(step: Step, above: Step | undefined): boolean {
  if (above === undefined) return imports(step.file).length === 0;
  const [from, to] = above.isPort ? [step.file, above.file] : [above.file, step.file];
  return !imports(from).includes(to);
}

describe('the architecture page', () => {
  it('draws a waiting acquire, a release and a renewal, in 12, 9 and 9 files at most', () => {
    expect(walks.map(({ name }) => name).join()).to.equal('acquire,release,extension');
    const files = walks.map(({ steps }) => steps.filter(({ isPort }) => !isPort).length);
    const most = [12, 9, 9];
    for (const [i, count] of files.entries()) expect(count).to.be.at.most(most[i] ?? 0);
  });

  for (const { name, steps } of walks) {
    it(`draws the way of: ${name}, as the files import each other`, () => {
      const wrong = steps.filter((step, i) => {
        const above = steps.slice(0, i).findLast(({ depth }) => depth < step.depth);
        return isWrong(step, above);
      });
      expect(wrong).to.deep.equal([]);
    });
  }
});
