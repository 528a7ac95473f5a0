// Prints the code lines of each room of src (no blank lines, no lines that are all comment) and
// refuses a room that is larger than weight.json says. A change that makes a room smaller lowers
// its figure there; a change that needs more raises it in a separate commit, with the reason.
import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const most = JSON.parse(readFileSync(new URL('scripts/weight.json', root), 'utf8'));

/** In this order: a file belongs to the first room whose pattern it fits. */
const ROOMS = {
  generated: /^web\/page\/built|written-by-npm-run-lua|written-by-npm-run-lua/,
  'redis Lua': /^backends\/redis\/.*\.lua$/,
  'redis TypeScript': /^backends\/redis\//,
  memory: /^backends\/memory\//,
  quorum: /^backends\/quorum\//,
  core: /^(?:core|time)\//,
  'web page': /^web\/page\//,
  'sampler and web': /^(?:sampler|web)\//,
  locks: /^(?:many|locks)\//,
  cli: /^cli\//,
  keeper: /^keeper\//,
  otel: /^otel\//,
  'root, arguments and port': /^(?:arguments\/|backends\/)?[^/]+$/,
};

const isCode = (line) => line.trim() !== '' && !/^\s*(?:\/\/|\/\*|\*|--)/.test(line);

function roomOf(file) {
  return Object.keys(ROOMS).find((room) => ROOMS[room].test(file)) ?? 'elsewhere';
}

const weight = {};
for (const entry of readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' })) {
  const file = entry.replaceAll('\\', '/');
  if (!/\.(?:ts|lua|css|html)$/.test(file)) continue;
  const lines = readFileSync(new URL(`src/${file}`, root), 'utf8')
    .split('\n')
    .filter(isCode);
  const room = roomOf(file);
  weight[room] = (weight[room] ?? 0) + lines.length;
}
delete weight.generated;

let failed = false;
for (const [room, lines] of Object.entries(weight)) {
  const bound = most[room] ?? 0;
  failed ||= lines > bound;
  console.log(
    `${lines > bound ? 'TOO MANY' : 'ok'.padEnd(8)} ${room}: ${lines} (at most ${bound})`,
  );
}
const all = Object.values(weight).reduce((sum, lines) => sum + lines, 0);
console.log(`         all of src: ${all}`);
if (failed) process.exitCode = 1;
