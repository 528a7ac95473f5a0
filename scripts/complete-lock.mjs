// A registry mirror may lack a package's builds for other platforms. npm then leaves them out of the lock
// file, and `npm ci` refuses that lock. This names them again, as the package itself does: optional, at their exact
// version, for their own platform. Run it after `npm install`: `npm run lock`.
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = 'package-lock.json';
const lock = JSON.parse(readFileSync(FILE, 'utf8'));
const packages = lock.packages;

/** `@scope/binding-linux-x64-musl` and the like tell os, cpu and libc by their names. */
function platformOf(name) {
  const [os, cpu, abi] = name.split('/')[1].replace('binding-', '').split('-');
  const libc = abi?.startsWith('musl') ? ['musl'] : abi === 'gnu' ? ['glibc'] : undefined;
  return { cpu: [cpu], ...(libc && os === 'linux' ? { libc } : {}), os: [os] };
}

for (const entry of Object.values(packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (packages[path] || !name.startsWith('@oxlint')) continue;
    packages[path] = { version, dev: true, optional: true, ...platformOf(name) };
  }
}
lock.packages = Object.fromEntries(
  Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
