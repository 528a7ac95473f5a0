import { expect } from 'chai';
import { describeWithServer } from '../../test/support/require-server.js';
import { Program } from '../../test/tooling/run-program.js';

const LONGEST = 15_000;

/** Runs without REDIS_URL, and without programs on PATH. */
function startDemo(args: string, env: NodeJS.ProcessEnv = {}): Program {
  const demo = [process.execPath, '--import', import.meta.resolve('tsx'), 'demo/main.ts'];
  const bare = { REDIS_URL: '', REDIS_SERVER: '', ...env };
  return new Program(['env', 'PATH=', ...demo, ...args.split(' ').filter(Boolean)], { env: bare });
}

describe('demo', () => {
  it('proves the limit with no server at all, within 15 s', async () => {
    const began = performance.now();
    const { code, stdout, stderr } = await startDemo('--seconds 3').result;
    expect(performance.now() - began).to.be.below(LONGEST);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^backend: memory, in one process \(no REDIS_URL/m);
    expect(stdout).to.contain('peak in flight: 4 of 4 allowed, never 5');
    expect(stdout).to.contain('20 of 20 were served');
    expect(stdout).to.contain('no two requests in flight had the same');
    expect(stdout).to.contain('fencing tokens: rose with every request in every slot');
    expect(stdout).to.not.contain('\u001B');
  });

  it('ends with an exit code where five work, the limit is never reached, or it is called wrongly', async () => {
    const unreachable = { REDIS_URL: 'redis://user:secret@127.0.0.1:1' };
    const five = /VIOLATED: peak in flight: 5, but only 4 are allowed/;
    const three = /VIOLATED: peak in flight: 3, so 4 were never used/;
    for (const [args, code, said, env] of [
      ['--permits 5 --allowed 4 --seconds 2', 1, five],
      ['--permits 3 --allowed 4 --seconds 2', 1, three],
      ['--seconds 60', 2, /--seconds: expected an integer from 2 to 9, got '60'/],
      ['', 1, /no answer from redis:\/\/127\.0\.0\.1:1 \(REDIS_URL\)/, unreachable],
    ] as const) {
      const result = await startDemo(args, env).result;
      expect(result.code).to.equal(code);
      const output = result.stdout + result.stderr;
      expect(output)
        .to.match(said)
        .and.not.match(/never 5|secret/);
    }
  });
});

describeWithServer('demo on a server', (server) => {
  it('kills a worker process, whose permit comes back by its ttl', async () => {
    await server().command('SET', 'of-another-program', '1');
    const { code, stdout } = await startDemo('--seconds 4', { REDIS_URL: server().url }).result;
    expect(stdout).to.match(/worker \d+ killed \(SIGKILL\) holding slot [0-3]/);
    expect(stdout).to.match(/the permit of worker \d+ \(slot [0-3]\) is back after \d\.\d s/);
    expect(stdout).to.match(/^killed worker: .* permit back after \d+ ms \(ttl 2000 ms\)$/m);
    expect(stdout).to.contain('20 processes, 10 with redis and 10 with ioredis');
    expect(stdout).to.contain('peak in flight: 4 of 4 allowed, never 5');
    expect(code).to.equal(0);
    const keys = (await server().command('KEYS', '*')) as string[];
    const own = keys.filter((key) => /^redsem-demo-[0-9a-f]{12}:.*:(?:info|tickets)$/.test(key));
    expect(keys).to.have.members([...own, 'of-another-program']);
    // The sign that the key is there, and no ticket.
    for (const key of own.filter((one) => one.endsWith(':tickets'))) {
      expect(await server().command('ZRANGE', key, '0', '-1')).to.deep.equal(['.']);
    }
  });
});
