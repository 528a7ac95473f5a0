import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { sourcesList, wrapperText } from '../../verification/servers/debian-server.js';
import { type Row, totalsIn, withRow } from '../../verification/servers/result-table.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';
import { Program } from './run-program.js';

describe('a server from Debian', () => {
  it('runs in the process that was started, by the loader and the libraries that came with it', async () => {
    const root = makeTemporaryFolder();
    const folder = join(root, "it's a folder");
    mkdirSync(folder);
    const [loader, program] = [join(folder, 'ld-linux-x86-64.so.2'), join(folder, 'valkey-server')];
    writeFileSync(loader, `#!/bin/sh\nprintf '%s\\n' $$ "$@"\n`, { mode: 0o755 });
    const binary = `${folder}/usr/bin/valkey-check-rdb`;
    const libraries = ['lib/libc.so.6', 'usr/lib/libssl.so.3', 'lib/libm.so.6'];
    const noise = ['lib/libc.conf', 'usr/bin/valkey-cli'];
    const files = [...noise, ...libraries].map((file) => `${folder}/${file}`);
    const text = wrapperText('valkey', [...files, binary, loader]);
    writeFileSync(program, text, { mode: 0o755 });
    const started = new Program([program, '--port', '0', '--save', '']);
    const path = `${folder}/lib:${folder}/usr/lib`;
    const own = ['--library-path', path, '--argv0', 'valkey-server', binary];
    const words = [started.child.pid, ...own, '--port', '0', '--save', '', ''];
    expect((await started.result).stdout).to.equal(words.join('\n'));
    await removeTemporaryFolder(root);
  });

  it('is looked for in all suites named, and refused when the package holds none', () => {
    const list = sourcesList('http://debian.test/', ['sid', 'experimental']);
    const line = (suite: string) => `deb http://debian.test/ ${suite} main\n`;
    expect(list.replaceAll(/ \[.*\]/g, '')).to.equal(line('sid') + line('experimental'));
    const files = ['/data/lib64/ld-linux-x86-64.so.2'];
    expect(() => wrapperText('redis', files)).to.throw('no server inside');
  });

  it('has a row with the last totals of its run, in place of an older one', () => {
    const totals = { passed: 5465, failed: 1, skipped: 0 };
    expect(totalsIn('1 passed, 0 failed\n...\n5465 passed, 1 failed\n')).to.deep.equal(totals);
    expect(totalsIn('7 passed, 2 failed, 3 skipped\n')).to.include({ skipped: 3 });
    expect(totalsIn('    1) 7 passed, 2 failed, they say\n')).to.equal(undefined);
    const about = { server: 'redis', suite: 'sid', date: '2026-01-02', commit: 'abc' };
    const row: Row = { ...about, tested: { version: '8.0.6', totals } };
    const other: Row = { ...row, suite: 'trixie', tested: undefined };
    const aligned = withRow(withRow('', row), other).replaceAll('| redis |', '| redis    |');
    const lines = withRow(aligned, { ...row, date: '2026-03-04' }).split('\n');
    expect(lines.slice(-3)).to.deep.equal([
      '| redis | sid | 8.0.6 | 5,465 | 1 | 0 | 2026-03-04 | abc |',
      '| redis | trixie | not to be had | – | – | – | 2026-01-02 | abc |',
      '',
    ]);
  });
});
