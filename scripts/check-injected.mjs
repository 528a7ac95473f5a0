// Refuses real time, timers and chance in src outside of the files whose job they are: a simulated
// run is repeatable from its seed only if all three come from outside. Ticks, microtasks and
// setImmediate have a fixed order and may stay.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCE = new URL('../src/', import.meta.url).pathname;

/** The clocks themselves, the adapters of clients, and the command line. */
const ALLOWED = [
  /^time\/clock\.ts$/,
  /^time\/manual-clock\.ts$/,
  /^cli\//,
  // It runs in a browser.
  /^web\/page\/app\//,
  /^backends\/redis\/adapters\//,
];
/** Names come from Node's source of chance if no other is given. */
const ALLOWED_IN = new Map([['backends/ticket-id.ts', new Set(['randomBytes'])]]);

const REFUSED =
  /\b(Math\.random|Date\.now|performance\.now|process\.hrtime|process\.uptime|setTimeout|setInterval|randomBytes|randomUUID|randomInt|getRandomValues)\b|\bnew Date\(\)/g;

const found = readdirSync(SOURCE, { recursive: true })
  .map((file) => String(file).replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !ALLOWED.some((allowed) => allowed.test(file)))
  .flatMap((file) => problemsIn(file));

if (found.length > 0) {
  console.error(
    `Time, timers and chance come from the clock that is handed in (src/time/clock.ts):`,
  );
  for (const problem of found) console.error(`  ${problem}`);
  process.exitCode = 1;
}

function problemsIn(file) {
  const lines = readFileSync(join(SOURCE, file), 'utf8').split('\n');
  return lines.flatMap((line, i) => {
    const code = line.replace(/^\s*(\/\/|\/?\*).*/, '').replace(/\s\/\/.*/, '');
    return [...code.matchAll(REFUSED)]
      .filter(([name]) => ALLOWED_IN.get(file)?.has(name) !== true)
      .map(([name]) => `src/${file}:${i + 1} uses ${name}`);
  });
}
