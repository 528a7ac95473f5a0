import { expect } from 'chai';
import { describeWithServer } from '../../test/support/require-server.js';
import { startServer } from '../../test/support/redis-server.js';
import { INSTALL_TIMEOUT, needPackages } from './folder-packages.js';
import {
  type Compose,
  type IssueForm,
  parseYaml,
  readText,
  type Workflow,
  WORKFLOW_FOLDER,
} from './workflow-files.js';

interface DevContainer {
  readonly image: string;
  readonly postCreateCommand: string;
}

async function matrix(): Promise<{ node: readonly number[]; server: readonly string[] }> {
  const { jobs } = await parseYaml<Workflow>('.github/workflows/ci.yml');
  const found = jobs['test']?.strategy?.matrix;
  if (found === undefined) throw new Error('the workflow has no matrix');
  return found;
}

describeWithServer('files for development', () => {
  before('npm ci in .github', async function () {
    this.timeout(2 * INSTALL_TIMEOUT + 10_000);
    await needPackages(this, WORKFLOW_FOLDER);
  });

  it('compose.yaml starts a server that is tested, where clients look for one, on this machine only', async () => {
    const { services } = await parseYaml<Compose>('compose.yaml');
    expect(Object.keys(services)).to.deep.equal(['redis']);
    expect((await matrix()).server).to.include(services['redis']?.image);
    expect(services['redis']?.ports).to.deep.equal(['127.0.0.1:6379:6379']);
    const { scripts } = JSON.parse(await readText('package.json')) as { scripts: object };
    const says = /REDIS_URL=(\S+) npm run (\w+)/.exec(await readText('compose.yaml'));
    expect(says?.[1]).to.equal('redis://127.0.0.1:6379');
    expect(scripts).to.have.property(says?.[2] ?? '');
  });

  it('compose.yaml has the policy that the README asks for, and the server takes it', async () => {
    const { services } = await parseYaml<Compose>('compose.yaml');
    const [program, ...args] = (services['redis']?.command ?? '').split(' ');
    expect(program).to.equal('redis-server');
    expect(await readText('README.md')).to.include('`maxmemory-policy noeviction`');
    // The last word counts: without that of compose it would be another policy.
    const started = await startServer({ args: ['--maxmemory-policy', 'allkeys-lru', ...args] });
    try {
      const reply = await started.command('CONFIG', 'GET', 'maxmemory-policy');
      expect(reply).to.deep.equal(['maxmemory-policy', 'noeviction']);
    } finally {
      await started.stop();
    }
  });

  it('the devcontainer has a Node.js that is tested, and what the tests need', async () => {
    const text = await readText('.devcontainer/devcontainer.json');
    const { image, postCreateCommand } = JSON.parse(text) as DevContainer;
    const [, version] = /\/typescript-node:(\d+)-\w+$/.exec(image) ?? [];
    expect((await matrix()).node).to.include(Number(version));
    const commands = postCreateCommand.split(' && ');
    expect(commands[0]).to.equal('sudo apt-get update');
    expect(commands[1]).to.match(/^sudo apt-get install -y( redis-server| faketime| spin){3}$/);
    expect(commands.slice(2)).to.deep.equal(['npm ci']);
  });

  it('issue forms have what GitHub wants of one', async () => {
    for (const file of ['bug.yml', 'idea.yml']) {
      const form = await parseYaml<IssueForm>(`.github/ISSUE_TEMPLATE/${file}`);
      expect(form.name, file).to.be.a('string');
      expect(form.description, file).to.be.a('string');
      const labels = form.body.map(({ attributes }) => attributes.label);
      expect(new Set(labels).size, file).to.equal(form.body.length).and.above(1);
      for (const { type } of form.body) expect(type, file).to.be.oneOf(['textarea', 'input']);
    }
  });
});
