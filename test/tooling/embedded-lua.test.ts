import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';
import { ROOT, runProgram } from './run-program.js';

describe('embedded lua', () => {
  let cwd: string;

  beforeEach(() => {
    cwd = makeTemporaryFolder();
    for (const room of ['redis', 'quorum']) {
      mkdirSync(join(cwd, 'src/backends', room, 'lua'), { recursive: true });
    }
    writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }\n');
    cpSync(join(ROOT, 'scripts/embed-lua.mjs'), join(cwd, 'scripts/embed-lua.mjs'));
    write('clock.lua', '-- Reads the clock.', "local t = redis.call('TIME')");
    write('purge.lua', 'local function purge()', '', '  return 0', 'end');
    const text = `return { purge(), "it's", '\\\\', 'say "x"' } -- kept`;
    write('set-limit.lua', '-- include: clock purge', '-- Sets the limit.', text);
    write('../../quorum/lua/quorum-take.lua', '-- include: clock');
  });

  afterEach(() => removeTemporaryFolder(cwd));

  const modulePath = () => join(cwd, 'src/backends/redis/lua-sources.ts');
  const luaPath = (name: string) => join(cwd, 'src/backends/redis/lua', name);
  const write = (name: string, ...lines: string[]) =>
    writeFileSync(luaPath(name), `${lines.join('\n')}\n`);
  const embed = (...args: string[]) =>
    runProgram([process.execPath, 'scripts/embed-lua.mjs', ...args], { cwd });

  it('has each file once, without comments, and differs from a stale or missing one', async () => {
    expect((await embed('--check')).stderr).to.match(/is missing: run `npm run lua`/);
    expect((await embed()).code).to.equal(0);
    expect((await embed('--check')).code).to.equal(0);
    const { luaSources } = (await import(pathToFileURL(modulePath()).href)) as {
      luaSources: object;
    };
    expect(luaSources).to.deep.equal({
      clock: ["local t = redis.call('TIME')"],
      purge: ['local function purge()', 'return 0', 'end'],
      'quorum-take': ['-- include: clock'],
      'set-limit': [
        '-- include: clock purge',
        `return { purge(), "it's", '\\\\', 'say "x"' } -- kept`,
      ],
    });
    appendFileSync(luaPath('clock.lua'), 'local extra = 1\n');
    const stale = await embed('--check');
    expect(stale.code).to.equal(1);
    expect(stale.stderr).to.match(/lua-sources\.ts is stale: run `npm run lua`/);
  });

  it('is not written from what cannot be embedded', async () => {
    for (const [file, lines, message] of [
      ['a.lua', ['-- include:', 'local s = [[x]]'], /a\.lua:2: long brackets/],
      ['a.lua', ['-- include:', '--[==[ x', ']==]'], /a\.lua:2: long brackets/],
      ['a.lua', ['-- include:', "local s = 'x\\", "y'"], /a\.lua:2: .*backslash/],
      ['a.lua', ['-- include: nope', 'return 1'], /no file "nope"/],
      ['A_b.lua', ['-- include:'], /must be kebab-case/],
      ['quorum-take.lua', ['return 1'], /quorum-take\.lua: two rooms have a file of that name/],
    ] as const) {
      write(file, ...lines);
      const { code, stderr } = await embed();
      expect(code).to.equal(1);
      expect(stderr).to.match(message);
      expect(existsSync(modulePath())).to.equal(false);
      rmSync(luaPath(file));
    }
  });
});
