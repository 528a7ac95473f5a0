import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { Arguments } from '../../src/cli/arguments.js';
import { parseServerUrl, showAddress } from '../../src/cli/server-options.js';
import type { RunPlan } from '../../src/cli/commands/run-plan.js';
import { planOf } from '../../src/cli/commands/run-plan.js';
import { progressText } from '../../src/cli/commands/waiting-note.js';
import { tableLines } from '../../src/cli/columns.js';
import { errorEntries, errorHelp } from '../../src/cli/error-help.js';
import { optionsOf } from '../../src/cli/help.js';
import { parseDuration, showDuration } from '../../src/cli/amounts.js';
import { ClosedError } from '../../src/errors.js';
import { describe as describeError, UsageError } from '../../src/cli/failure.js';
import { fit, hasColors, plainText, widthOf } from '../../src/cli/style.js';
import { redsemHere } from './in-process.js';

const COMMANDS = 'run status list watch limit rate budget revoke completion'.split(' ');

describe('the command line', () => {
  it('has a help that lists the commands, and a help for each command, in lines that fit a terminal', async () => {
    const { stdout: all } = await redsemHere(['--help']);
    for (const name of COMMANDS) {
      expect(all).to.match(new RegExp(`^  ${name} +\\S`, 'm'));
      expect(all).to.match(new RegExp(`^  redsem ${name}\\b`, 'm'));
      const { code, stdout } = await redsemHere([name, '--help', '--nonsense']);
      expect(code).to.equal(0);
      expect(stdout).to.match(
        new RegExp(`^Usage: redsem ${name} [^]*^Examples:\n {2}redsem `, 'm'),
      );
      expect(stdout).not.to.match(/^.{81}/m);
      // The program takes each option of its help.
      const options = stdout.match(/^ +(?:-\w, +)?--\w/gm);
      expect(optionsOf(name), name).to.have.length(options?.length ?? 0);
    }
    expect(await redsemHere(['help', 'limit'])).to.deep.equal(await redsemHere(['limit', '-h']));
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect((await redsemHere(['--version'])).stdout).to.equal(`${version}\n`);
    for (const [line, said] of [
      ['nonsense', 'no command is called "nonsense"; redsem --help lists them'],
      ['help stauts', 'no command is called "stauts" (status?); redsem --help lists them'],
    ] as const) {
      const refused = { code: 64, stdout: '', stderr: `redsem: ${said}\n` };
      expect(await redsemHere(line.split(' '))).to.include(refused);
    }
    expect(await redsemHere([])).to.include({ code: 64, stdout: '', stderr: all });
  });

  it('explains each error and warning by its code, in lines that fit a terminal', async () => {
    const page = readFileSync('docs/reference/errors.md', 'utf8');
    const codes = [...page.matchAll(/^## (\w+)$/gm)].map(([, code = '']) => code);
    expect(codes).to.include.members(['ACQUIRE_TIMEOUT', 'STORED_LIMIT']);
    const entries = errorEntries();
    expect([...entries.keys()]).to.deep.equal(codes);
    for (const [code, entry] of entries) {
      const text = errorHelp(code, entry);
      expect(text.startsWith(`${code}\n\n`), text).to.equal(true);
      expect(text).not.to.match(/^.{81}|\]\(|\n## /m);
    }
    const [, command = ''] = /; see: npx redsem (.*)$/.exec(new ClosedError('jobs').message) ?? [];
    const closed = await redsemHere(command.split(' '));
    expect(closed.stdout).to.match(/^CLOSED\n\nThis semaphore object/);
    const { stdout, ...rest } = await redsemHere(['help', 'ACQUIRE_TIMEOUT']);
    expect(rest).to.deep.equal({ code: 0, signal: null, stderr: '' });
    expect(stdout).to.match(/^ACQUIRE_TIMEOUT\n\n`acquire` or `use` waited for its whole/);
    expect(stdout).to.match(/^ {2}`undefined` {2}all permits were in use \| answer "busy"/m);
    expect(stdout).to.contain('who holds? (docs/guides/operating.md)');
    const said = `no error is called "ACQUIRE_TIMOUT" (ACQUIRE_TIMEOUT?); the codes are ${codes.join(', ')}`;
    const refused = { code: 64, stderr: `redsem: ${said}\n` };
    expect(await redsemHere(['help', 'ACQUIRE_TIMOUT'])).to.include(refused);
  });

  it('makes a plan for run, with the defaults that the help names', () => {
    const plan = (...argv: string[]): RunPlan => planOf(new Arguments('run', argv));
    const jobs = plan('jobs', '--', '/opt/job.sh', '--password', 'secret');
    const defaults = { permits: 1, timeout: undefined };
    const more = { skipIfBusy: false, conflictCode: 75, killAfter: 10_000, quiet: false };
    expect(jobs).to.deep.include({ name: 'jobs', ...defaults, ...more });
    expect(jobs.command).to.deep.equal(['/opt/job.sh', '--password', 'secret']);
    const { label, ...options } = jobs.options;
    expect(options).to.deep.equal({ prefix: 'redsem', limit: 1 });
    expect(label).to.match(new RegExp(`^.+:${process.pid} job\\.sh$`));
    const times = plan('-t', '1.5s', '--ttl', '2m', '-k', '500ms', 'jobs', '--', 'true');
    expect(times).to.include({ timeout: 1500, killAfter: 500 });
    expect(times.options).to.include({ ttl: 120_000 });
    const calls = plan('--rate', '100/m', '--burst', '3', 'api', '--', 'true').options;
    const perMinute = { permits: 100, per: 60_000, burst: 3 };
    expect(calls).to.deep.include({ limit: Infinity, rate: perMinute });
    const both = plan('-r', '9/15d', '-n', '2', 'api', '--', 'true').options;
    expect(both).to.deep.include({ limit: 2, rate: { permits: 9, per: 1_296_000_000 } });
    const rate = 'expected a rate such as 10/s, 100/m or 5000/h, got';
    for (const [argv, message] of [
      ['--cost tokens x -- true', '--cost: expected a name and a value as in tokens=4000'],
      ['--budget tokens=9 x -- true', `--budget: ${rate} "9"`],
      ['--rate 100 x -- true', `--rate: ${rate} "100"`],
      ['--rate 1/w x -- true', '--rate: expected a rate'],
      ['--rate 1.5/s x -- true', '--rate: expected a rate'],
      ['--burst 2 x -- true', '--burst: expected only beside --rate'],
      ['x', 'expected -- and a command after the name'],
      ['x --', 'expected -- and a command'],
      // As from an unset variable in quotes.
      ['x -- ', 'expected -- and a command'],
      ['--pass-fd 1 x -- true', '--pass-fd: expected'],
      ['--limit 0 x -- true', '--limit: expected a whole number, 1 or more, got "0"'],
      ['--limit 1e3 x -- true', '--limit: expected a whole number, 1 or more'],
      ['--timeout 30 x -- true', '--timeout: expected a duration such as 500ms'],
      ['--timeout -1s x -- true', "Option '--timeout' argument is ambiguous"],
      ['-E 256 x -- true', '--conflict-exit-code: expected a whole number, 0 to 255'],
      ['--skip-if-busy -t 1s x -- true', '--skip-if-busy does not wait'],
      ['--nonsense x -- true', "Unknown option '--nonsense'"],
      ['--client other x -- true', '--client: expected redis or ioredis, got "other"'],
      ['--cacert ./none.crt x -- true', '--cacert: ENOENT'],
      ['--url redis://a --url redis://b x -- true', '--url: expected once, except with --cluster'],
    ] as const) {
      expect(() => plan(...argv.split(' ')), argv).to.throw(UsageError, message);
    }
  });

  it('reads and shows durations', () => {
    const times = ['500ms', '30s', '1.5m', '2h', '1d', '0', '0s'];
    const read = times.map((text) => parseDuration('--t', text));
    expect(read).to.deep.equal([500, 30_000, 90_000, 7_200_000, 86_400_000, 0, 0]);
    for (const text of ['30', '', 's', '-1s', '1e3s', '1 s', '1s2', '1S', 'Infinitys']) {
      expect(() => parseDuration('--t', text), text).to.throw(UsageError, '--t: expected');
    }
    const shown = [-5, 0, 999.4, 1000, 59_999, 60_000, 3_725_000, 90_000_000].map(showDuration);
    expect(shown).to.deep.equal(['0ms', '0ms', '999ms', '1s', '59s', '1m 0s', '1h 2m', '1d 1h']);
  });

  it('says of a wait its place, how many wait, and about how long it takes', () => {
    for (const [position, waiting, estimate, text] of [
      [0, 1, undefined, '1st of 1'],
      [1, 2, 400, '2nd of 2, about 1 s'],
      [2, 17, 40_400, '3rd of 17, about 40 s'],
      [10, 111, 600_000, '11th of 111, about 10 min'],
      [21, 22, undefined, '22nd of 22'],
    ] as const) {
      expect(progressText({ position, waiting, estimate })).to.equal(text);
    }
  });

  it('reads every part of a URL, and shows no password of a wrong URL', () => {
    const login = { username: 'us@er', password: 'p/w' };
    const socket = { path: '/run/r@x.sock', database: 2 };
    const secure = { host: '::1', port: 7000, path: undefined, ...login, database: 5, tls: true };
    for (const [url, parts] of [
      ['rediss://us%40er:p%2Fw@[::1]:7000/5', secure],
      ['redis://', { host: '127.0.0.1', port: 6379 }],
      ['redis://h?db=3', { database: 3 }],
      ['unix:///run/r@x.sock?db=2', socket],
      ['unix://us%40er:p%2Fw@/run/r@x.sock?db=2', { ...socket, ...login }],
      ['unix://us%40er:p%2Fw@localhost/run/r@x.sock?db=2', { ...socket, ...login }],
    ] as const)
      expect(parseServerUrl('--url', url), url).to.include(parts);
    expect(showAddress(parseServerUrl('--url', 'redis://[::1]:7000'))).to.equal('[::1]:7000');
    const wrong = ['http://:secret@h', 'redis://:secret@h/x', 'redis://:%secret@h'];
    for (const url of ['', 'host:6379', ...wrong]) {
      const read = () => parseServerUrl('REDIS_URL', url);
      expect(read, url).to.throw(UsageError, /^REDIS_URL: (?!.*secret)/);
    }
  });

  it('shows no password in any error, whichever argument or variable has it', async () => {
    const url = 'redis://user:hunter2@127.0.0.1:1';
    const ofRun = ['limit', 'rate', 'timeout', 'pass-fd'];
    const lines = [
      'URL; help URL; list URL; completion URL; watch --interval URL; run name -- URL',
      'status --URL; status --url URL; status --client URL; status --cacert URL',
      'limit name URL; rate name URL; revoke name URL; web --listen URL; web --token-file URL',
      'status --url http://user:hunter2@host; status --url redis://user:hunter2%@host',
      ...ofRun.map((option) => `run --${option} URL name -- true`),
    ].flatMap((some) => some.split('; '));
    for (const line of lines) {
      const args = line.split(' ').map((word) => word.replace('URL', url));
      const { code, stdout, stderr } = await redsemHere(args, { url });
      expect(code, line).to.be.above(0);
      expect(stderr, line).not.to.equal('');
      expect(stdout + stderr).not.to.include('hunter2');
    }
    for (const client of ['redis', 'ioredis']) {
      const { code, stderr } = await redsemHere(['list', '--client', client], { url });
      expect(code).to.equal(69);
      expect(stderr).to.match(/^redsem: cannot connect to 127\.0\.0\.1:1: .*ECONNREFUSED/);
      expect(stderr).not.to.include('hunter2');
    }
  });

  it('has columns of the width that a terminal shows', () => {
    const widths = ['abc', '漢字', '🚀', 'é', 'e\u0301', '👩‍👩‍👧'].map(widthOf);
    expect(widths).to.deep.equal([3, 4, 2, 1, 1, 2]);
    const fitted = [fit('abcdef', 6), fit('abcdefg', 6), fit('漢字漢字', 6), fit('x', 0)];
    expect(fitted).to.deep.equal(['abcdef', 'abcde…', '漢字…', '']);
    const columns = [
      { head: 'NAME', rank: 1, least: 3, cell: (row: string) => row.split('|')[0] ?? '' },
      { head: 'COUNT', rank: 2, isNumber: true, cell: (row: string) => row.split('|')[1] ?? '' },
    ];
    const shown = (width?: number): string[] =>
      tableLines(columns, ['漢字の名前|1', 'abc\n|22'], width).map(plainText);
    expect(shown()).to.deep.equal(['NAME        COUNT', '漢字の名前      1', 'abc\\u000a      22']);
    expect(shown(13)).to.deep.equal(['NAME    COUNT', '漢字…       1', 'abc\\u…     22']);
    // The least important column goes.
    expect(shown(8)).to.deep.equal(['NAME', '漢字の…', 'abc\\u00…']);
  });

  it('has colors on a terminal, unless or although variables say so', () => {
    for (const [isTerminal, env, colors] of [
      [true, { TERM: 'xterm' }, true],
      [true, { TERM: 'dumb' }, false],
      [true, { TERM: 'xterm', NO_COLOR: '1' }, false],
      [false, { TERM: 'xterm' }, false],
      [false, { FORCE_COLOR: '1' }, true],
      [true, { TERM: 'xterm', FORCE_COLOR: '0' }, false],
    ] as const)
      expect(hasColors(isTerminal, env), JSON.stringify(env)).to.equal(colors);
  });

  it('shows a readable text for any error', () => {
    const messages = ['connect ECONNREFUSED ::1:6379', 'connect ECONNREFUSED 127.0.0.1:6379'];
    const openssl = { library: 'SSL routines', reason: 'tlsv13 alert certificate required' };
    for (const [error, text] of [
      [new AggregateError(messages.map((message) => new Error(message))), messages.join('; ')],
      [new RangeError(), 'RangeError'],
      ['text', 'text'],
      [Object.assign(new Error('80EC:error:0A00045C\n'), openssl), `TLS: ${openssl.reason}`],
    ] as const)
      expect(describeError(error)).to.equal(text);
  });
});
