import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { redisRow } from '../../test/conformance/rows/redis-row.js';
import { connected } from '../../test/support/open-client.js';
import { semaphoreSuite } from '../../test/conformance/semaphore-suite.js';
import {
  describeStarted,
  describeWithServer,
  noServer,
} from '../../test/support/require-server.js';
import { runProgram } from '../../test/tooling/run-program.js';
import { realPassage as passage } from '../conformance/real-passage.js';
import { readPages, samplesOf } from '../docs/markdown-samples.js';
import { OWN_SERVERS, type ReaderProjects, startReaderProjects } from '../docs/reader-projects.js';
import { modulesOf, needPackages, packagesIn } from '../package/folder-packages.js';

const FOLDER = 'verification/platforms';
const MODULES = modulesOf(FOLDER);

const nodeOf = (name: string): string => join(MODULES, name, 'bin/node');

/** How each runtime runs a program, with a module before it. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  'Node.js 22': [nodeOf('node-22'), '--import', OWN_SERVERS],
  'Node.js 24': [nodeOf('node-24'), '--import', OWN_SERVERS],
  Bun: [join(MODULES, '.bin/bun'), '--preload', new URL(OWN_SERVERS).pathname],
  Deno: [join(MODULES, '.bin/deno'), 'run', '--allow-all', '--quiet', '--preload', OWN_SERVERS],
};

const startProjects = (): Promise<ReaderProjects> => startReaderProjects(['@types/node']);

describe('other platforms', () => {
  before('install them', function () {
    return needPackages(this, FOLDER, { scripts: true });
  });

  for (const name of ['node-22', 'node-24']) {
    it(`${name} passes each conformance test of npm test`, async function () {
      this.timeout(0); // each of those tests has its own
      const tests = 'test/conformance/*.test.ts';
      const command = [nodeOf(name), 'node_modules/mocha/bin/mocha.js', tests];
      const { code, stdout } = await runProgram(command, { env: { NODE_OPTIONS: '' } });
      expect(stdout).to.match(/^\d{3} passed, 0 failed$/m);
      expect(code).to.equal(0);
    });
  }

  describeStarted('the first samples of a reader', noServer(), startProjects, (projects) => {
    const pages = readPages().filter(({ path }) => /^(README|docs\/getting-started)/.test(path));
    for (const [runtime, command] of Object.entries(RUNTIMES)) {
      for (const [i, sample] of pages.flatMap(samplesOf).entries()) {
        it(`print what they say on ${runtime}: ${sample.title}`, async () => {
          await projects().of(sample).write(`sample-${i}.mts`, sample.code);
          const result = await projects().run(sample, `sample-${i}.mts`, command);
          expect(result).to.include({ code: 0, stdout: sample.output, stderr: '' });
        });
      }
    }
  });

  describeWithServer('conformance of iovalkey', (server) => {
    const connect = async (): ReturnType<typeof connected> => {
      const load = packagesIn<{ iovalkey: { readonly Redis: typeof Redis } }>(FOLDER);
      const { Redis: Iovalkey } = await load('iovalkey');
      return connected(new Iovalkey(server().url, { lazyConnect: true }));
    };
    semaphoreSuite(redisRow('iovalkey 0.4', server, connect), { passage });
  });
});
