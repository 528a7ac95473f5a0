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

type Replacement = readonly [pattern: RegExp, after: (match: string) => readonly string[]];

/** Both languages are formatted with spaces around operators, and most statements fill one line. */
interface Language {
  readonly comment: RegExp;
  /** Texts of people: a mutant changes none of them. */
  readonly message: RegExp;
  /** Strings and patterns are blanked before anything is looked for. */
  readonly string: RegExp;
  readonly replacements: readonly Replacement[];
  /** Statements that may be dropped whole. */
  readonly droppable: RegExp;
  /** The text before a condition, and the text behind it. */
  readonly condition: readonly [before: RegExp, after: RegExp];
}

const OTHERS: Readonly<Record<string, readonly string[]>> = {
  ' === ': [' !== '],
  ' !== ': [' === '],
  ' == ': [' ~= '],
  ' ~= ': [' == '],
  ' < ': [' <= ', ' >= '],
  ' <= ': [' < ', ' > '],
  ' > ': [' >= ', ' <= '],
  ' >= ': [' > ', ' < '],
  ' && ': [' || '],
  ' || ': [' && '],
  ' and ': [' or '],
  ' or ': [' and '],
  ' ?? ': [' && '],
  ' ? ': [' && false ? ', ' || true ? '],
  ' + ': [' - '],
  ' - ': [' + '],
  ' * ': [' / '],
  ' / ': [' * '],
  ' += ': [' -= '],
  ' -= ': [' += '],
  ' ||= ': [' &&= '],
  ' ??= ': [' = '],
  '?.': ['.'],
  '++': ['--'],
  '--': ['++'],
  max: ['min'],
  min: ['max'],
  ceil: ['floor'],
  true: ['false'],
  false: ['true'],
};

const byTable = (match: string): readonly string[] => OTHERS[match] ?? [];
const dropped = (): readonly string[] => [''];

const BOTH: readonly Replacement[] = [
  [/(?<=\b[mM]ath\.)(?:max|min|ceil)\b/g, byTable],
  [/\b(?:true|false)\b/g, byTable],
  // Times are doubled, because hardly any promise depends on one millisecond more.
  [
    /(?<![\w.'])\d[\d_]*(?:\.0)?(?![\w.'])/g,
    (match) => {
      const value = Number(match.replaceAll('_', ''));
      return [`${value < 100 ? value + 1 : value * 2}${match.endsWith('.0') ? '.0' : ''}`];
    },
  ],
];

const TYPESCRIPT: Language = {
  comment: /^\s*(?:\/[/*]|\*)/,
  message: /^\s*(?:import|export \{|export \*)|\bnew \w*Error\(|\bsuper\(/,
  string: /'[^']*'|`[^`]*`|(?<=[(=,] ?)\/(?:[^/\\\n]|\\.)+\/[a-z]*/g,
  replacements: [
    [/ (?:===|!==|<=?|>=?|&&|\|\||\?\??|[-+*/]|[-+]=|\|\|=|\?\?=) /g, byTable],
    [/\?\.(?![\d[(])|\+\+|--/g, byTable],
    [/(?<![\w!)])!(?=[\w(])|\bawait /g, dropped],
    ...BOTH,
  ],
  droppable:
    /^\s*(?:(?:return|throw|break|continue)\b.*;|(?!(?:const|let|readonly|export|type|get|static)\b)[\w.#?[\]]+(?:\(.*\)| \W?\W?= .+);|(?:await|void) .*;)$/,
  condition: [/^\s*(?:\} else )?(?:if|while) \(/, /^\) (?:\{|.*;)$/],
};

const LUA: Language = {
  comment: /^\s*--/,
  message: /\berror\(/,
  string: /'[^']*'/g,
  replacements: [[/ (?:==|~=|<=?|>=?|and|or|[-+*/]) /g, byTable], [/\bnot /g, dropped], ...BOTH],
  droppable: /^(?!\s*local\b)\s*(?:call\(.*\)|redis\.p?call\(.*\)|break|[\w.[\] +*,-]+ = .+)$/,
  condition: [/^\s*(?:if|elseif|while) /, /^ (?:then|do)$/],
};

/** The changes of a file, line by line. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const language = file.endsWith('.lua') ? LUA : TYPESCRIPT;
  const lines = text.split('\n');
  return lines.flatMap((line, index) =>
    changesOf(line, language).map((after) => ({
      file,
      line: index + 1,
      before: line.trim(),
      after: after.trim(),
      text: lines.with(index, after).join('\n'),
    })),
  );
}

function changesOf(line: string, language: Language): string[] {
  const { comment, message, string, replacements, droppable, condition } = language;
  if (line.trim() === '' || comment.test(line) || message.test(line)) return [];
  // Of the same length, so that a place in the code is a place in the line.
  const code = line.replace(string, (whole) => `'${'_'.repeat(whole.length - 2)}'`);
  const changes = replacements.flatMap(([pattern, others]) =>
    [...code.matchAll(pattern)].flatMap(({ 0: match, index }) =>
      others(match).map((other) => replaced(line, index, index + match.length, other)),
    ),
  );
  if (droppable.test(code)) changes.push('');
  const from = condition[0].exec(code)?.[0].length ?? 0;
  const to = endOfCondition(code, from);
  if (from > 0 && condition[1].test(code.slice(to))) {
    changes.push(replaced(line, from, to, 'true'), replaced(line, from, to, 'false'));
  }
  return [...new Set(changes)];
}

function replaced(line: string, from: number, to: number, other: string): string {
  return line.slice(0, from) + other + line.slice(to);
}

/** Where the parenthesis closes that is open at `from`, or where the last word of a line begins. */
function endOfCondition(code: string, from: number): number {
  let depth = 0;
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1;
    if (code[at] === ')') depth -= 1;
    if (depth < 0) return at;
  }
  return code.lastIndexOf(' ');
}
