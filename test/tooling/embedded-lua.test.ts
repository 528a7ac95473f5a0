import { createHash } from 'node:crypto';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { ROOT, runOrThrow, runProgram, type ProgramResult } from './run-program.js';

interface EmbeddedScript {
  readonly name: string;
  readonly sha1: string;
  readonly text: string;
}

/** A small tree of its own, so that the tests may break it. */
class ScratchTree {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async create(): Promise<ScratchTree> {
    const root = await mkdtemp(join(tmpdir(), 'redsem-lua-'));
    await mkdir(join(root, 'src/redis/lua'), { recursive: true });
    await writeFile(join(root, 'package.json'), '{ "type": "module" }\n');
    await cp(join(ROOT, 'scripts/embed-lua.mjs'), join(root, 'scripts/embed-lua.mjs'));
    return new ScratchTree(root);
  }

  get modulePath(): string {
    return join(this.#root, 'src/redis/lua-sources.ts');
  }

  luaPath(name: string): string {
    return join(this.#root, 'src/redis/lua', name);
  }

  write(name: string, lines: readonly string[]): Promise<void> {
    return writeFile(this.luaPath(name), `${lines.join('\n')}\n`);
  }

  embed(...args: string[]): Promise<ProgramResult> {
    return runProgram(process.execPath, ['scripts/embed-lua.mjs', ...args], this.#root);
  }

  async sources(): Promise<Readonly<Record<string, readonly string[]>>> {
    const module = (await import(pathToFileURL(this.modulePath).href)) as {
      luaSources: Record<string, readonly string[]>;
    };
    return module.luaSources;
  }

  remove(): Promise<void> {
    return rm(this.#root, { recursive: true, force: true });
  }
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

describe('embedded lua', () => {
  let tree: ScratchTree;

  beforeEach(async () => {
    tree = await ScratchTree.create();
    await tree.write('clock.lua', ['-- Reads the clock.', "local t = redis.call('TIME')"]);
    await tree.write('purge.lua', ['local function purge()', '', '  return 0', 'end']);
    await tree.write('set-limit.lua', [
      '-- include: clock purge',
      '-- Sets the limit.',
      `return { purge(), "it's", '\\\\', 'say "x"' } -- kept`,
    ]);
  });

  afterEach(() => tree.remove());

  it('keeps each file once, without comments, blanks and indentation', async () => {
    expect((await tree.embed()).exitCode).to.equal(0);
    const sources = await tree.sources();
    expect(Object.keys(sources)).to.deep.equal(['clock', 'purge', 'set-limit']);
    expect(sources['clock']).to.deep.equal(["local t = redis.call('TIME')"]);
    expect(sources['purge']).to.deep.equal(['local function purge()', 'return 0', 'end']);
    expect(sources['set-limit']).to.deep.equal([
      '-- include: clock purge',
      `return { purge(), "it's", '\\\\', 'say "x"' } -- kept`,
    ]);
  });

  it('finds a stale and a missing module, and says what to run', async () => {
    expect((await tree.embed('--check')).stderr).to.match(/is missing: run `npm run lua`/);
    await tree.embed();
    expect((await tree.embed('--check')).exitCode).to.equal(0);
    await appendFile(tree.luaPath('clock.lua'), 'local extra = 1\n');
    const stale = await tree.embed('--check');
    expect(stale.exitCode).to.equal(1);
    expect(stale.stderr).to.match(/lua-sources\.ts is stale: run `npm run lua`/);
  });

  const mistakes: [title: string, file: string, lines: string[], message: RegExp][] = [
    ['a long string', 'a.lua', ['-- include:', 'local s = [[x]]'], /a\.lua:2: long brackets/],
    ['a block comment', 'a.lua', ['-- include:', '--[==[ x', ']==]'], /a\.lua:2: long brackets/],
    ['a continued line', 'a.lua', ['-- include:', "local s = 'x\\", "y'"], /a\.lua:2: .*backslash/],
    ['an unknown file', 'a.lua', ['-- include: nope', 'return 1'], /no file "nope"/],
    ['a name that is not kebab-case', 'A_b.lua', ['-- include:'], /must be kebab-case/],
  ];
  for (const [title, file, lines, message] of mistakes) {
    it(`refuses ${title} and writes nothing`, async () => {
      await tree.write(file, lines);
      const result = await tree.embed();
      expect(result.exitCode).to.equal(1);
      expect(result.stderr).to.match(message);
      const written = await readFile(tree.modulePath, 'utf8').catch(() => undefined);
      expect(written).to.equal(undefined);
    });
  }

  it('is up to date in this repository', async () => {
    await runOrThrow(process.execPath, ['scripts/embed-lua.mjs', '--check']);
  });
});

describe('committed scripts', () => {
  it('carry the SHA1 of their text, and one name each', async () => {
    const url = pathToFileURL(join(ROOT, 'src/redis/scripts.ts')).href;
    const scripts = Object.values((await import(url)) as Record<string, EmbeddedScript>);
    expect(scripts).to.not.have.lengthOf(0);
    for (const script of scripts) expect(script.sha1, script.name).to.equal(sha1(script.text));
    expect(new Set(scripts.map((script) => script.name)).size).to.equal(scripts.length);
  });
});
