import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../test/support/eventually.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { Program, type ProgramResult, ROOT, runNode } from '../../test/tooling/run-program.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describeWithServer('examples', (server) => {
  const start = (file: string, ...args: string[]): Program => {
    const tsconfig = { TSX_TSCONFIG_PATH: join(ROOT, 'examples/tsconfig.json') };
    const env = { REDIS_URL: server().url, NODE_OPTIONS: '', PORT: '0', ...tsconfig };
    return new Program([process.execPath, '--import', 'tsx', `examples/${file}`, ...args], { env });
  };
  const run = (file: string, ...args: string[]): Promise<ProgramResult> =>
    start(file, ...args).result;

  it('compile, are listed in their README, and run here', async () => {
    await runNode(['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'examples']);
    const files = readdirSync(join(ROOT, 'examples')).filter((file) => file.endsWith('.ts'));
    const programs = files.filter((file) => file !== 'prometheus-text.ts');
    expect(programs).to.have.length.above(3);
    const [readme, test] = ['examples/README.md', 'verification/docs/examples.test.ts'].map(read);
    for (const file of programs) {
      expect(readme).to.include(`\`${file}\``);
      expect(test).to.match(new RegExp(`(?:run|start)\\('${file}'`));
    }
  });

  it('nightly-job: one of many replicas does it, once a date, or another replica if it fails', async () => {
    const replicas = ['1', '2', '3'].map(() => run('nightly-job.ts', '2026-01-01'));
    const results = await Promise.all(replicas);
    const other = 'another replica does it\n';
    const lines = results.map(({ stdout }) => stdout).toSorted();
    expect(lines).to.deep.equal([other, other, 'report of 2026-01-01\n']);
    for (const result of results) expect(result).to.include({ code: 0, stderr: '' });
    // Long after the job of a moment, a replica whose clock is late.
    expect((await run('nightly-job.ts', '2026-01-01')).stdout).to.equal(other);
    const failed = await run('nightly-job.ts', '2026-02-01', 'fails');
    expect(failed).to.include({ code: 1, stdout: 'the report failed\n', stderr: '' });
    expect((await run('nightly-job.ts', '2026-02-01')).stdout).to.equal('report of 2026-02-01\n');
  });

  it('api-calls: all are made, and never more at once than the limit', async () => {
    const { code, stdout, stderr } = await run('api-calls.ts');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^(?:20 calls answered\n){3}never more than [1-4] of 4 at once\n$/);
  });

  it('port-pool: no holder has the port of another', async () => {
    const stdout = 'taken: 20000 20001 20002\na fourth: null\nthe one that came back: 20001\n';
    expect(await run('port-pool.ts')).to.include({ code: 0, stdout, stderr: '' });
  });

  it('prometheus: says what happens, and ends when it is asked to', async () => {
    const program = start('prometheus.ts');
    await program.shows(/^http\S+\n/);
    const url = program.stdout.trim();
    const text = await eventually(async () => {
      const answer = await (await fetch(url)).text();
      expect(answer).to.match(/redsem_permit_wait_time_seconds_count\{.*\} [1-9]/);
      expect(answer).to.match(/redsem_permit_use_time_seconds_count\{.*\} [1-9]/);
      return answer;
    });
    const job = 'redsem_semaphore_name="example-jobs"';
    expect(text).to.match(new RegExp(`^redsem_permit_count\\{${job}\\} [012]$`, 'm'));
    expect(text).to.match(new RegExp(`^redsem_permit_waits_total\\{${job}\\} \\d+$`, 'm'));
    expect((await fetch(new URL('/', url))).status).to.equal(404);
    expect(await program.end('SIGTERM')).to.include({ code: 0, signal: null });
  });
});
