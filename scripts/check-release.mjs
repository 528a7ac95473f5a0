// Refuses a release whose version is not that of package.json and src/version.ts, or which the changelog says nothing of.
//
//   node scripts/check-release.mjs [v1.2.3]
import { readFileSync } from 'node:fs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const { version } = JSON.parse(read('../package.json'));
const tag = process.argv[2];
const problems = [];

if (tag !== undefined && tag !== `v${version}`) {
  problems.push(`the tag is ${tag}, package.json says ${version}`);
}
const [, built] = /VERSION = '(.*)'/.exec(read('../src/version.ts')) ?? [];
if (built !== version) problems.push(`src/version.ts says ${built}, package.json says ${version}`);
const [, entry] = read('../CHANGELOG.md').split(`\n## [${version}]`);
const [, lines = ''] = entry?.split('\n## ')[0]?.split(/\n(.*)/s) ?? [];
if (entry === undefined) problems.push(`CHANGELOG.md has no entry for ${version}`);
else if (!/^- \S/m.test(lines)) problems.push(`CHANGELOG.md lists no change under ${version}`);

for (const problem of problems) console.error(`not released: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;
