// The rules of OpenSSF Scorecard that need no network: Pinned-Dependencies, Token-Permissions,
// Dangerous-Workflow, Security-Policy, License and Dependency-Update-Tool.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../', import.meta.url);
const FOLDER = new URL('.github/workflows/', ROOT);
const NEEDED_FILES = ['SECURITY.md', 'LICENSE', '.github/dependabot.yml', 'package-lock.json'];

const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$/;
const UNTRUSTED = /\$\{\{[^}]*\b(github\.event\.(?!number)|github\.head_ref)/;

/** Each rule: what it finds in the text of a workflow. */
const RULES = [
  (text) =>
    [...text.matchAll(/^\s*(?:- )?uses: (.+)$/gm)]
      .filter(([, action]) => !PINNED.test(action))
      .map(([, action]) => `pin to a full commit, with its version as a comment: ${action}`),
  (text) =>
    /^permissions:\n {2}contents: read\n(?! )/m.test(text)
      ? []
      : ['the top level needs "permissions: contents: read" alone; a job asks for more'],
  (text) => (/\bpull_request_target\b/.test(text) ? ['runs on pull_request_target'] : []),
  (text) => (UNTRUSTED.test(text) ? ['puts text of an event into a command'] : []),
  (text) => (/\bnpm (?:install|i)\b/.test(text) ? ['installs with npm install: use npm ci'] : []),
  (text) => (/\bcurl\b[^\n]*\|/.test(text) ? ['runs what it downloads'] : []),
];

const files = readdirSync(FOLDER).filter((file) => /\.ya?ml$/.test(file));
const problems = files.flatMap((file) => {
  const text = readFileSync(new URL(file, FOLDER), 'utf8');
  return RULES.flatMap((rule) => rule(text)).map((problem) => `${file}: ${problem}`);
});
for (const file of NEEDED_FILES) {
  if (!existsSync(new URL(file, ROOT))) problems.push(`${file} is missing`);
}
for (const problem of problems) console.error(problem);
if (files.length === 0 || problems.length > 0) process.exitCode = 1;
