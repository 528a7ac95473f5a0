// Reads coverage/lcov.info and says how much of src the tests ran; fails below the least that is
// allowed.
//
// Branches on a line of an import are left out, because no import has any. They belong to the code
// that tsx puts in front of a file, for example for `await using`, which Node.js 20 does not know
// yet.
import { existsSync, readFileSync } from 'node:fs';

/** Percent. */
const LEAST = { lines: 97, branches: 95 };
const LCOV = new URL('../coverage/lcov.info', import.meta.url);

function count(text) {
  const total = { lines: 0, linesHit: 0, branches: 0, branchesHit: 0 };
  let source = [];
  for (const row of text.split('\n')) {
    const [kind, rest = ''] = row.split(':');
    const fields = rest.split(',');
    if (kind === 'SF') {
      source = readFileSync(new URL(`../${rest}`, import.meta.url), 'utf8').split('\n');
    } else if (kind === 'DA') {
      total.lines += 1;
      if (Number(fields[1]) > 0) total.linesHit += 1;
    } else if (kind === 'BRDA' && !/^import\b/.test(source[Number(fields[0]) - 1])) {
      total.branches += 1;
      if (Number(fields[3]) > 0) total.branchesHit += 1;
    }
  }
  return total;
}

function judge(what, hit, all) {
  const percent = (100 * hit) / all;
  console.log(`${what}: ${hit} of ${all}, ${percent.toFixed(2)} %`);
  // NaN, when no line was counted, is a failure.
  if (!(percent >= LEAST[what])) {
    console.error(`${what}: less than ${LEAST[what]} %`);
    process.exitCode = 1;
  }
}

if (!existsSync(LCOV)) {
  console.error('there is no coverage/lcov.info: run `npm run coverage`');
  process.exitCode = 1;
} else {
  const { lines, linesHit, branches, branchesHit } = count(readFileSync(LCOV, 'utf8'));
  judge('lines', linesHit, lines);
  judge('branches', branchesHit, branches);
}
