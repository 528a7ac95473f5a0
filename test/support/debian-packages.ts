import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const servicePolicy = '/usr/sbin/policy-rc.d';
const release = '/etc/os-release';

/** Whether this process is root on Debian, Ubuntu or a relative. */
export function canInstallPackages(): boolean {
  if (process.getuid?.() !== 0 || !existsSync(release)) return false;
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync(release, 'utf8'));
}

/** Installs packages without starting the services that come with them; false where apt fails. */
export function installPackages(names: readonly string[]): boolean {
  console.log(`Installing for the tests, with apt-get: ${names.join(' ')}`);
  const isOurs = forbidServices();
  try {
    return apt('update') && apt('install', '-y', '--no-install-recommends', ...names);
  } finally {
    if (isOurs) rmSync(servicePolicy, { force: true });
  }
}

/** Debian asks this script whether a service may start; 101 means no. */
function forbidServices(): boolean {
  try {
    writeFileSync(servicePolicy, '#!/bin/sh\nexit 101\n', { flag: 'wx', mode: 0o755 });
    return true;
  } catch {
    return false;
  }
}

function apt(...args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', ['-q', ...args], { stdio: 'inherit', env }).status === 0;
}
