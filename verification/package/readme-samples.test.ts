import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { describeWithServer } from '../../test/support/require-server.js';
import { PackedProject } from './packed-project.js';
import type { ProgramResult } from '../../test/tooling/run-program.js';
import { ROOT, runOrThrow, runProgram } from '../../test/tooling/run-program.js';

/** The README's TypeScript samples, as a reader would paste them, with the test's own server put in. */
async function samples(): Promise<string[]> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) =>
    code
      // Databases of one server are apart as servers are.
      .replaceAll(/'redis:\/\/([abc]):6379'/g, (_, host: string) => {
        return `\`\${process.env['REDIS_URL']}/${'abc'.indexOf(host)}\``;
      })
      .replaceAll('createClient()', "createClient({ url: process.env['REDIS_URL'] ?? '' })")
      .replaceAll('new Redis()', "new Redis(process.env['REDIS_URL'] ?? '')"),
  );
}

/** Each piece of code in the right column of "Coming from …", as a statement of its own. */
async function migrationLines(): Promise<string> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const table = readme.slice(readme.indexOf('\n## Coming from'), readme.indexOf('\n## Fencing'));
  const cells = [...table.matchAll(/^\|[^|\n]*\|([^|\n]*)\|$/gm)].map(([, cell = '']) => cell);
  const pieces = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code));
  expect(pieces).to.have.length.above(12);
  return [
    `import { KeyedMutex, Mutex, Semaphore, type Handle, type HandleData, type RedisConnection } from 'redsem';`,
    'declare const client: RedisConnection, a: typeof client, b: typeof client, c: typeof client;',
    'declare const sem: Semaphore, mutex: Mutex, handle: Handle, data: HandleData;',
    ...pieces.map((code) => `{ ${code?.replaceAll('=> …', '=> undefined')}; }`),
  ].join('\n');
}

describeWithServer('README samples', (server) => {
  let project: PackedProject;
  let codes: string[];

  before(async function () {
    this.timeout(180_000);
    project = await PackedProject.create();
    for (const name of ['redis', 'ioredis', '@types/node']) await project.link(name);
    codes = await samples();
    await Promise.all(codes.map((code, i) => project.write(`sample-${i}.mts`, code)));
    await project.write('migration.mts', await migrationLines());
  });

  after(() => project?.remove());

  it('show the first one by line 15', async () => {
    const lines = (await readFile(join(ROOT, 'README.md'), 'utf8')).split('\n');
    expect(lines.indexOf('```ts')).to.be.within(0, 14);
  });

  it('compile in a strict project', async function () {
    this.timeout(60_000);
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      types: ['node'],
      skipLibCheck: true,
    };
    const config = { compilerOptions, include: ['*.mts'] };
    await project.write('tsconfig.json', JSON.stringify(config));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await runOrThrow(process.execPath, [tsc, '-p', '.'], project.directory);
  });

  const run = (i: number): Promise<ProgramResult> => {
    process.env['REDIS_URL'] = server().url;
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    return runProgram(process.execPath, ['--import', tsx, `sample-${i}.mts`], project.directory);
  };

  const EXPECTED = [
    /^$/,
    /^encoding in slot 0\n$/,
    /^42\n0 \d{16}\nours\n\[ 0, 1 \]\n[^]*held: 0/,
    /^stalled: stale token\n$/,
    /^\[ 'alice', 'bob' \] true\ntrue\n\{ ran: true, result: 'done' \}\n\[ \[ 0, 1 \], \[ 0 \] \]\n$/,
    /^done\nfalse\ntrue true\n4 \[ 'exporter-1 0' \]\n(?:revoked\ntrue|true\nrevoked)\n$/,
    /^stalled: stale token in slot 0\n$/,
    /^encoding in slot 0\n$/,
    /^encoding in slot 0\n$/,
    /^lost a permit of reports: revoked\n$/,
    /^true false\nfalse\ntrue\n$/,
  ];

  EXPECTED.forEach((output, i) => {
    it(`run: number ${i + 1} does what it says`, async function () {
      this.timeout(60_000);
      expect(codes).to.have.length(EXPECTED.length);
      const result = await run(i);
      expect(result).to.deep.include({ stderr: '' });
      expect(result.stdout).to.match(output);
    });
  });

  after(() => delete process.env['REDIS_URL']);
});
