// Writes the address of the project into package.json, the only place that a release fills in. The
// links of the packed README are completed from it.
//
//   node scripts/repository.mjs OWNER/NAME
import { readFileSync, writeFileSync } from 'node:fs';

const [where = ''] = process.argv.slice(2);
if (!/^[\w.-]+\/[\w.-]+$/.test(where)) {
  console.error('expected: node scripts/repository.mjs OWNER/NAME');
  process.exit(2);
}

const page = `https://github.com/${where}`;
const { name, version, description, keywords, license, ...others } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);
const home = {
  repository: { type: 'git', url: `git+${page}.git` },
  homepage: `${page}#readme`,
  bugs: `${page}/issues`,
};
const manifest = { name, version, description, keywords, license, ...others, ...home };
const first = ['name', 'version', 'description', 'keywords', 'license', ...Object.keys(home)];
const ordered = Object.fromEntries(
  [...first, ...Object.keys(others)].map((field) => [field, manifest[field]]),
);
writeFileSync('package.json', `${JSON.stringify(ordered, undefined, 2)}\n`);
