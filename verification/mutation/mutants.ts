/** One small change of a source file that a test should notice. */
export interface Mutant {
  /** Path from the root, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly before: string;
  /** '' where the statement is dropped. */
  readonly after: string;
  /** The whole file with the change. */
  readonly text: string;
}

/**
 * Operators and words, each with what takes its place. Both languages are formatted with spaces
 * around operators.
 */
const SWAPS: readonly (readonly [pattern: RegExp, after: readonly string[]])[] = [
  [/(?<= )===(?= )/g, ['!==']],
  [/(?<= )!==(?= )/g, ['===']],
  [/(?<= )==(?= )/g, ['~=']],
  [/(?<= )~=(?= )/g, ['==']],
  [/(?<= )<=?(?= )/g, ['<', '<=', '>=']],
  [/(?<= )>=?(?= )/g, ['>', '>=', '<=']],
  [/(?<= )(?:&&|\|\|)(?= )/g, ['&&', '||']],
  [/(?<= )(?:and|or)(?= )/g, ['and', 'or']],
  [/(?<= )\?\?(?= )/g, ['&&']],
  [/(?<= )\?(?= )/g, ['&& false ?', '|| true ?']],
  [/(?<= )[-+](?= )/g, ['+', '-']],
  [/(?<= )[-+]=(?= )/g, ['+=', '-=']],
  [/(?<= )\*(?= )/g, ['/']],
  [/(?<= )\/(?= )/g, ['*']],
  [/\?\.(?![\d[(])/g, ['.']],
  [/(?<![\w!)])!(?=[\w(])|\bawait |\bnot /g, ['']],
  [/(?<=\b[mM]ath\.)(?:max|min)\b/g, ['max', 'min']],
  [/(?<=\b[mM]ath\.)ceil\b/g, ['floor']],
  [/\b(?:true|false)\b/g, ['true', 'false']],
];

/** Times are doubled, because hardly any promise depends on one millisecond more. */
const NUMBER = /(?<![\w.'])\d[\d_]*(?![\w.'])/g;

/** Comments, and texts of people: a mutant changes none of them. */
const UNTOUCHED =
  /^\s*(?:\/[/*]|\*|--|import|export \{|export \*|$)|\bnew \w*Error\(|\bsuper\(|\berror\(/;

/** Strings and patterns are blanked before anything is looked for. */
const STRING = /'[^']*'|`[^`]*`|(?<=[(=,] ?)\/(?:[^/\\\n]|\\.)+\/[a-z]*/g;

/** Statements of one line that may be dropped whole. */
const DROPPABLE = {
  ts: /^\s*(?:(?:return|throw|break|continue)\b.*;|(?!(?:const|let|readonly|export|type|get|static)\b)[\w.#?[\]]+(?:\(.*\)| \W?\W?= .+);|(?:await|void) .*;)$/,
  lua: /^(?!\s*local\b)\s*(?:call\(.*\)|redis\.p?call\(.*\)|break|[\w.[\] +*,-]+ = .+)$/,
};

/** The text before and behind a condition that fills its line. */
const CONDITION =
  /^(\s*(?:\} else )?(?:if|while) \(|\s*(?:if|elseif|while) )(.*)(\) (?:\{|[^()]*;)| (?:then|do))$/;

/** The changes of a file, line by line. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const lines = text.split('\n');
  const droppable = file.endsWith('.lua') ? DROPPABLE.lua : DROPPABLE.ts;
  return lines.flatMap((line, index) =>
    [...new Set(changesOf(line, droppable))].map((after) => ({
      file,
      line: index + 1,
      before: line.trim(),
      after: after.trim(),
      text: lines.with(index, after).join('\n'),
    })),
  );
}

function changesOf(line: string, droppable: RegExp): string[] {
  if (UNTOUCHED.test(line)) return [];
  // Of the same length, so that a place in the code is a place in the line.
  const code = line.replace(STRING, (whole) => `'${'_'.repeat(whole.length - 2)}'`);
  const swap = (pattern: RegExp, othersOf: (match: string) => readonly string[]): string[] =>
    [...code.matchAll(pattern)].flatMap(({ 0: match, index }) => {
      const others = othersOf(match).filter((other) => other !== match);
      return others.map((other) => line.slice(0, index) + other + line.slice(index + match.length));
    });
  const changes = SWAPS.flatMap(([pattern, others]) => swap(pattern, () => others));
  changes.push(...swap(NUMBER, (match) => [moreThan(Number(match.replaceAll('_', '')))]));
  if (droppable.test(code)) changes.push('');
  const { 1: head = '', 2: condition, 3: tail = '' } = CONDITION.exec(code) ?? [];
  if (condition === undefined) return changes;
  const behind = line.slice(line.length - tail.length);
  return [...changes, ...['true', 'false'].map((other) => `${head}${other}${behind}`)];
}

function moreThan(value: number): string {
  return String(value < 100 ? value + 1 : value * 2);
}
