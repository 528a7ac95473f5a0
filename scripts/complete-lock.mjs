// A registry mirror may lack a package's builds for other platforms. npm then leaves them out of
// the lock file, and `npm ci` refuses that lock. This names them again, as the package itself does:
// optional, at their exact version, for their own platform. Run it after `npm install`:
// `npm run lock`.
import { readFileSync, writeFileSync } from 'node:fs';

/** Packages whose builds a mirror lacked. */
const BUILDS = /^@(?:oxlint|msgpackr-extract|unrs)/;

/** `@scope/binding-linux-x64-musl` and the like show os, cpu and libc in their names. */
function platformOf(name) {
  const [os, cpu, abi] = name
    .split('/')[1]
    .replace(/^(?:(?:resolver-)?binding|msgpackr-extract)-/, '')
    .split('-');
  const libc = abi?.startsWith('musl') ? ['musl'] : abi === 'gnu' ? ['glibc'] : undefined;
  return { cpu: [cpu], ...(libc && os === 'linux' ? { libc } : {}), os: [os] };
}

for (const file of ['package-lock.json', 'docs/guides/package-lock.json']) {
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const packages = lock.packages;
  for (const { dev, optionalDependencies = {} } of Object.values(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const path = `node_modules/${name}`;
      if (packages[path] || !BUILDS.test(name)) continue;
      packages[path] = { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) };
    }
  }
  lock.packages = Object.fromEntries(
    Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
}
