// Refuses a release whose version differs from package.json or src/otel/version.ts, that has no
// entry in the changelog, or that does not say where its repository is.
//
//   node scripts/check-release.mjs [v1.2.3]
import { readFileSync } from 'node:fs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const manifest = JSON.parse(read('../package.json'));
const { version } = manifest;
const tag = process.argv[2];
const problems = [];

if (tag !== undefined && tag !== `v${version}`) {
  problems.push(`the tag is ${tag}, package.json says ${version}`);
}
const [, built] = /VERSION = '(.*)'/.exec(read('../src/otel/version.ts')) ?? [];
if (built !== version)
  problems.push(`src/otel/version.ts says ${built}, package.json says ${version}`);
const [, entry] = read('../CHANGELOG.md').split(`\n## [${version}]`);
const [, lines = ''] = entry?.split('\n## ')[0]?.split(/\n(.*)/s) ?? [];
if (entry === undefined) problems.push(`CHANGELOG.md has no entry for ${version}`);
else if (!/^- \S/m.test(lines)) problems.push(`CHANGELOG.md lists no change under ${version}`);

// The links and pictures of the packed README are completed from `repository`, and `--provenance`
// compares it. The reference of the site links to its sources.
for (const field of ['repository', 'homepage', 'bugs']) {
  if (manifest[field] === undefined) {
    problems.push(`package.json has no "${field}": run node scripts/repository.mjs OWNER/NAME`);
  }
}
const GITHUB = /^git\+https:\/\/github\.com\/[\w.-]+\/[\w.-]+\.git$/;
if (manifest.repository !== undefined && !GITHUB.test(manifest.repository.url)) {
  problems.push(
    'package.json: "repository.url" needs the form git+https://github.com/OWNER/NAME.git',
  );
}

for (const problem of problems) console.error(`not released: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;
