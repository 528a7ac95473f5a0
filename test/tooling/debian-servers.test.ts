import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { sourcesList, wrapperText } from '../../verification/servers/debian-server.js';
import { type Row, totalsIn, withRow } from '../../verification/servers/result-table.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';

describe('a server from Debian', () => {
  let folder: string;

  beforeEach(() => {
    folder = join(makeTemporaryFolder(), "it's a folder");
    mkdirSync(folder);
  });

  afterEach(() => removeTemporaryFolder(join(folder, '..')));

  function file(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o755 });
    return path;
  }

  it('runs in the process that was started, by the loader and the libraries that came with it', () => {
    const loader = file('ld-linux-x86-64.so.2', `#!/bin/sh\nprintf '%s\\n' $$ "$@"\n`);
    const libraries = [
      `${folder}/lib/libc.so.6`,
      `${folder}/usr/lib/libssl.so.3`,
      `${folder}/lib/libm.so.6`,
    ];
    const binary = `${folder}/usr/bin/valkey-check-rdb`;
    const noise = [`${folder}/lib/libc.conf`, `${folder}/usr/bin/valkey-cli`];
    const program = file(
      'valkey-server',
      wrapperText('valkey', [...noise, binary, ...libraries, loader]),
    );
    const { pid, stdout } = spawnSync(program, ['--port', '0', '--save', ''], { encoding: 'utf8' });
    const path = `${folder}/lib:${folder}/usr/lib`;
    const own = ['--library-path', path, '--argv0', 'valkey-server', binary];
    expect(stdout.split('\n')).to.deep.equal([
      String(pid),
      ...own,
      '--port',
      '0',
      '--save',
      '',
      '',
    ]);
  });

  it('is refused when the package holds no server', () => {
    expect(() => wrapperText('redis', ['/data/lib64/ld-linux-x86-64.so.2'])).to.throw(
      'no server inside',
    );
  });

  it('is looked for in all suites named, and nowhere else', () => {
    const lines = sourcesList('http://debian.test/', ['sid', 'experimental']).split('\n');
    expect(lines.map((line) => line.replace(/ \[.*\]/, ''))).to.deep.equal([
      'deb http://debian.test/ sid main',
      'deb http://debian.test/ experimental main',
      '',
    ]);
  });
});

describe('the table of servers', () => {
  const totals = { passed: 5465, failed: 1, skipped: 0 };
  const row: Row = {
    server: 'redis',
    suite: 'sid',
    tested: { version: '8.0.6', totals },
    date: '2026-01-02',
    commit: 'abc',
  };

  it('reads the last totals of a run', () => {
    expect(totalsIn('1 passed, 0 failed\n...\n7 passed, 2 failed, 3 skipped\n')).to.deep.equal({
      passed: 7,
      failed: 2,
      skipped: 3,
    });
    expect(totalsIn('7 passed, 2 failed\n')).to.include({ skipped: 0 });
    expect(totalsIn('    1) 7 passed, 2 failed, they say\n')).to.equal(undefined);
  });

  it('replaces the row of the same server and suite, and keeps the others, in order', () => {
    const other: Row = { ...row, suite: 'trixie', tested: undefined };
    const once = withRow(withRow('', row), other);
    const aligned = once.replaceAll('| redis |', '| redis    |');
    const rows = withRow(aligned, { ...row, date: '2026-03-04' })
      .split('\n')
      .slice(-3);
    expect(rows).to.deep.equal([
      '| redis | sid | 8.0.6 | 5,465 | 1 | 0 | 2026-03-04 | abc |',
      '| redis | trixie | not to be had | – | – | – | 2026-01-02 | abc |',
      '',
    ]);
  });
});
