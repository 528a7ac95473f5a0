import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../test/support/eventually.js';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { Output } from './run-typescript.js';
import { runTypeScript, startTypeScript } from './run-typescript.js';

const FOLDER = join(ROOT, 'examples');

/** Each starts several programs, on a machine that may be busy. */
const TIMEOUT = 120_000;

describeWithServer('examples', (server) => {
  const program = (file: string, ...args: string[]) => {
    const tsconfig = join(FOLDER, 'tsconfig.json');
    return { file: join(FOLDER, file), args, tsconfig, cwd: ROOT, redisUrl: server().url };
  };
  const run = (file: string, ...args: string[]): Promise<Output> =>
    runTypeScript(program(file, ...args));

  it('compile', async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await runOrThrow(process.execPath, [tsc, '--noEmit', '-p', 'examples']);
  }).timeout(TIMEOUT);

  it('are listed in their README, and run here', async () => {
    const [readme, test] = await Promise.all([
      readFile(join(FOLDER, 'README.md'), 'utf8'),
      readFile(join(ROOT, 'verification/docs/examples.test.ts'), 'utf8'),
    ]);
    const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.ts'));
    const programs = files.filter((file) => file !== 'prometheus-text.ts');
    expect(programs).to.have.length.above(3);
    for (const file of programs) {
      expect(readme, file).to.include(`\`${file}\``);
      expect(test, file).to.match(new RegExp(`(?:run|program)\\('${file}'`));
    }
  });

  it('nightly-job: one of many replicas does it, once a date', async () => {
    const replicas = ['1', '2', '3'].map(() => run('nightly-job.ts', '2026-01-01'));
    const results = await Promise.all(replicas);
    const lines = results.map(({ stdout }) => stdout.trim()).toSorted();
    const other = 'another replica does it';
    expect(lines).to.deep.equal([other, other, 'report of 2026-01-01']);
    expect(results.every(({ exitCode, stderr }) => exitCode === 0 && stderr === '')).to.equal(true);
    // Long after the job of a moment, a replica whose clock is late.
    expect((await run('nightly-job.ts', '2026-01-01')).stdout).to.equal(`${other}\n`);
    expect((await run('nightly-job.ts', '2026-01-02')).stdout).to.equal('report of 2026-01-02\n');
  }).timeout(TIMEOUT);

  it('nightly-job: where it fails, another replica may try', async () => {
    const failed = await run('nightly-job.ts', '2026-02-01', 'fails');
    expect(failed).to.deep.equal({ exitCode: 1, stdout: 'the report failed\n', stderr: '' });
    expect((await run('nightly-job.ts', '2026-02-01')).stdout).to.equal('report of 2026-02-01\n');
  }).timeout(TIMEOUT);

  it('api-calls: all are made, and never more at once than the limit', async () => {
    const { exitCode, stdout, stderr } = await run('api-calls.ts');
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    const lines = stdout.trim().split('\n');
    expect(lines.slice(0, 3)).to.deep.equal(Array.from({ length: 3 }, () => '20 calls answered'));
    expect(lines[3]).to.match(/^never more than [1-4] of 4 at once$/);
    expect(lines).to.have.length(4);
  }).timeout(TIMEOUT);

  it('port-pool: nobody has the port of another', async () => {
    const lines = ['taken: 20000 20001 20002', 'a fourth: null', 'the one that came back: 20001'];
    expect(await run('port-pool.ts')).to.deep.equal({
      exitCode: 0,
      stdout: `${lines.join('\n')}\n`,
      stderr: '',
    });
  }).timeout(TIMEOUT);

  it('prometheus: tells what happens, and ends when it is asked to', async () => {
    const child = startTypeScript(program('prometheus.ts'), { PORT: '0' });
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    const url = line.toString().trim();
    let text = '';
    await eventually(async () => {
      text = await (await fetch(url)).text();
      expect(text).to.match(/redsem_permit_wait_time_seconds_count\{.*\} [1-9]/);
      expect(text).to.match(/redsem_permit_use_time_seconds_count\{.*\} [1-9]/);
    });
    const job = 'redsem_semaphore_name="example-jobs"';
    expect(text).to.match(new RegExp(`^redsem_permit_count\\{${job}\\} [012]$`, 'm'));
    expect(text).to.match(new RegExp(`^redsem_permit_waits_total\\{${job}\\} \\d+$`, 'm'));
    expectPrometheusFormat(text);
    expect((await fetch(new URL('/', url))).status).to.equal(404);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).to.deep.equal([0, null]);
  }).timeout(TIMEOUT);
});

/** https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format, as far as it is used. */
function expectPrometheusFormat(text: string): void {
  const name = '[a-z_]+';
  const value = '[0-9.e+-]+';
  const allowed = [
    new RegExp(`^# HELP ${name} .+$`),
    new RegExp(`^# TYPE ${name} (?:counter|gauge|histogram)$`),
    new RegExp(`^${name}\\{(?:[a-z_]+="[^"]*",?)+\\} ${value}$`),
  ];
  expect(text.endsWith('\n')).to.equal(true);
  for (const line of text.trimEnd().split('\n')) {
    expect(
      allowed.some((form) => form.test(line)),
      line,
    ).to.equal(true);
  }
  for (const [, metric = ''] of text.matchAll(/^# TYPE (\S+) histogram$/gm)) {
    const buckets = [...text.matchAll(new RegExp(`^${metric}_bucket\\{.*\\} (\\d+)$`, 'gm'))];
    const counts = buckets.map(([, count]) => Number(count));
    const total = new RegExp(`^${metric}_count\\{.*\\} (\\d+)$`, 'm').exec(text)?.[1];
    expect(counts, metric).to.deep.equal(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1), metric).to.equal(Number(total));
  }
}
