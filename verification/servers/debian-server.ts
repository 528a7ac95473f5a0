import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** By a suite that adds to another: the suite that it adds to. */
const BASES: Readonly<Record<string, string>> = {
  'bookworm-backports': 'bookworm',
  experimental: 'sid',
};

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Downloads a server with all libraries that it needs, below `folder`, and returns a program that
 * runs it. The system's apt gives the address of its mirror and does the download; its lists and
 * packages are not touched.
 * @throws when the package cannot be had
 */
export function fetchServer(kind: string, suite: string, folder: string): string {
  const [packages, root] = [join(folder, 'archives'), join(folder, 'root')];
  mkdirSync(join(folder, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(packages, 'partial'), { recursive: true });
  writeFileSync(join(folder, 'sources.list'), sourcesList(suite));
  // Without any package installed, apt downloads the libraries, too.
  writeFileSync(join(folder, 'status'), '');
  const apt = ['-q', ...aptOptions(folder)];
  run('apt-get', [...apt, 'update']);
  // Of an older version, which would be unpacked with the newer one.
  run('apt-get', [...apt, 'autoclean']);
  const download = ['install', '--yes', '--no-install-recommends', '--download-only'];
  run('apt-get', [...apt, ...download, `--target-release=${suite}`, `${kind}-tools`]);
  rmSync(root, { recursive: true, force: true });
  const downloaded = readdirSync(packages).filter((name) => name.endsWith('.deb'));
  for (const name of downloaded) run('dpkg', ['-x', join(packages, name), root]);
  const program = join(folder, `${kind}-server`);
  writeFileSync(program, wrapperText(kind, filesBelow(root)), { mode: 0o755 });
  return program;
}

function sourcesList(suite: string): string {
  const suites = [BASES[suite] ?? suite, suite];
  const line = `deb [signed-by=${keyring}] ${debianMirror()}`;
  return [...new Set(suites)].map((each) => `${line} ${each} main\n`).join('');
}

/**
 * A script that becomes the server, with the same pid, by the loader and the libraries that came
 * with it.
 */
function wrapperText(kind: string, files: readonly string[]): string {
  const loader = files.find((file) => /^ld-linux.*\.so\.\d+$/.test(basename(file)));
  // Debian's server is the program that checks snapshots, called by another name.
  const server = files.find((file) => file.endsWith(`/usr/bin/${kind}-check-rdb`));
  if (loader === undefined || server === undefined)
    throw new Error(`${kind}-tools: no server inside`);
  const libraries = files.filter((file) => /^lib[^/]*\.so\.\d/.test(basename(file))).map(dirname);
  const path = [...new Set(libraries)].join(':');
  return `#!/bin/sh\nexec ${quote(loader)} --library-path ${quote(path)} --argv0 ${kind}-server ${quote(server)} "$@"\n`;
}

/** The output of `server --version`: `Redis server v=8.0.2 sha=…`, and the like of others. */
export function versionOf(program: string): string {
  const version = /\bv=(\S+)/.exec(run(program, ['--version']))?.[1];
  if (version === undefined) throw new Error(`${program} --version names no version`);
  return version;
}

function debianMirror(): string {
  const release = /^VERSION_CODENAME=(\S+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  const wanted = ['Created-By: Packages', 'Component: main', `Release: ${release}`];
  // A machine that never ran `apt-get update` has no release information yet.
  const format = ['--no-release-info', '--format', '$(REPO_URI)'];
  const [mirror = ''] = run('apt-get', ['indextargets', ...format, ...wanted]).split('\n');
  if (mirror === '') throw new Error(`apt has no source of Debian ${release}`);
  return mirror;
}

function aptOptions(folder: string): string[] {
  const options = {
    'Dir::State': folder,
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': folder,
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  };
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.map((entry) => resolve(entry.parentPath, entry.name));
}

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${basename(command)} failed: ${args.join(' ')}\n${stderr ?? ''}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
