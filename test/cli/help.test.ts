import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { redsem } from './cli-process.js';

const COMMANDS = ['run', 'status', 'list', 'watch', 'limit', 'revoke'];

describe('redsem --help', () => {
  it('lists the commands with examples', async () => {
    const { code, stdout, stderr } = await redsem(['--help']);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    for (const name of COMMANDS) {
      expect(stdout).to.match(new RegExp(`^  ${name} +\\S`, 'm'));
      expect(stdout).to.match(new RegExp(`^  redsem ${name}\\b`, 'm'));
    }
  });

  for (const name of COMMANDS) {
    it(`tells what ${name} does, in lines that fit a terminal`, async () => {
      const { code, stdout } = await redsem([name, '--help', '--nonsense']);
      expect(code).to.equal(0);
      expect(stdout).to.match(new RegExp(`^Usage: redsem ${name} `));
      expect(stdout).to.match(/^Examples:\n {2}redsem /m);
      const wide = stdout.split('\n').filter((line) => line.length > 80);
      expect(wide).to.deep.equal([]);
    });
  }

  it('is also redsem help COMMAND; --version tells the version', async () => {
    const { stdout } = await redsem(['help', 'limit']);
    expect(stdout).to.equal((await redsem(['limit', '-h'])).stdout);
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect((await redsem(['--version'])).stdout).to.equal(`${manifest.version}\n`);
  });

  it('is where a wrong command line leads', async () => {
    for (const args of [[], ['nonsense'], ['help', 'nonsense']]) {
      const { code, stdout, stderr } = await redsem(args);
      expect({ code, stdout }).to.deep.equal({ code: 64, stdout: '' });
      expect(stderr).to.match(/^redsem: .*redsem --help lists them\n$/);
    }
  });
});
