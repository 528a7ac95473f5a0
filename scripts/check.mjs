// npm run check: the checks that read the sources and run no code of them, one for each core at a
// time, the longest first. The output of a check comes when it has ended.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

const PROGRAMS = [
  'prettier --check .',
  'cspell lint --quiet .',
  'oxlint --type-aware --deny-warnings',
  'tsc --noEmit',
  'tsc -p src/web/page/app --noEmit',
  'tsc -p tsconfig.build.json --noEmit',
  'node scripts/check-weight.mjs',
  'node scripts/check-injected.mjs',
  'node scripts/check-test-time.mjs',
  'node scripts/check-workflows.mjs',
  'node scripts/wrap-comments.mjs --check',
  'node scripts/check-words.mjs',
];

/** npm has put the programs of the packages on PATH. */
function run(command) {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const note = (text) => (output += text);
    child.stdout.setEncoding('utf8').on('data', note);
    child.stderr.setEncoding('utf8').on('data', note);
    child.once('close', (code) => {
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${command}\n${output.trimEnd()}`.trimEnd());
      if (code !== 0) process.exitCode = 1;
      resolve();
    });
  });
}

const waiting = PROGRAMS.values();
async function work() {
  for (const command of waiting) await run(command);
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
