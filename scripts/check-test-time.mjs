// The rule of `npm test`: no verdict depends on how fast the machine is. So nothing in test/ reads
// a real clock or sets a real timer, but the helpers in test/support/: they wait for facts, start
// servers and pass bytes on. A test that needs real time belongs into verification/.
import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../', import.meta.url);
const REFUSED = [
  /\bset(Timeout|Interval)\s*\(/,
  /\bset(Timeout|Interval)\b.*from '(node:)?timers/,
  /\bperformance\.now\b/,
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bhrtime\b/,
  /\bthis\.(timeout|retries|slow)\(/,
  /\}\)\.(timeout|retries)\(/,
  /\b(lag|unlessStalled)\b/,
];

const files = readdirSync(new URL('test/', ROOT), { recursive: true, encoding: 'utf8' })
  .map((file) => `test/${file.replaceAll('\\', '/')}`)
  .filter((file) => file.endsWith('.ts') && !file.startsWith('test/support/'));
const found = files.flatMap((file) =>
  readFileSync(new URL(file, ROOT), 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      REFUSED.some((pattern) => pattern.test(line)) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
    ),
);
if (found.length > 0) {
  console.error(
    `real time in files that npm test runs (see CONTRIBUTING.md):\n${found.join('\n')}`,
  );
  process.exitCode = 1;
}
