// Refuses wordings that readers stumble over, in docs, comments, messages and test titles.
// Names in `backquotes` and code itself are not looked at.
import { proseLines, readTracked, trackedFiles } from './prose.mjs';

const RULES = [
  [/\bmend(s|ed|ing)?\b/i, 'fix, repair, recover'],
  [/\banew\b/i, 'again, or a new one'],
  [/(?<!\.|include: )\b(told|tells?|telling)\b/i, 'notify, report, say, show, distinguish'],
  [/\bgo(es)? on\b(?! (a|the)\b)/i, 'continue'],
  [/\bof (its|their|his|your|my) own\b/i, 'its own X, a separate X'],
  [/\bso many\b/i, 'a number, n, that many'],
  [/\bever so\b/i, 'very, or nothing'],
  [/\bstands\b/i, 'is, is written, is set'],
  [/\b(is|are) to (?!\d)[a-z]+/, 'must, should, will'],
  [/, for (he|it|its|nobody|she|there|they|this is|that is)\b/, 'because'],
  [/, for ([a-z']+ ){1,2}(is|are|has|may|can|cannot|must|would|will|does|was|were)\b/, 'because'],
  [/\b(one|same|other|wrong|a) slot of (the|a) cluster\b|\b[Cc]luster slots?\b/, 'hash slot'],
];

const found = trackedFiles(/\.(ts|mjs|lua|md)$/)
  .filter((file) => file !== 'scripts/check-words.mjs')
  .flatMap((file) => proseLines(file, readTracked(file)).flatMap((line, i) => hits(file, line, i)));
if (found.length > 0) {
  console.error(`Say it plainly (the list is in scripts/check-words.mjs):\n${found.join('\n')}`);
  process.exitCode = 1;
}

function hits(file, line, index) {
  return RULES.flatMap(([pattern, instead]) => {
    const word = pattern.exec(line)?.[0].trim();
    return word === undefined ? [] : [`${file}:${index + 1}: "${word}": ${instead}`];
  });
}
