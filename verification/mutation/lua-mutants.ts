import type { Mutant } from './mutant.js';
import { oneLine } from './mutant.js';
import { otherNumber } from './typescript-operators.js';

export interface LuaMutant extends Mutant {
  /** The whole file with the change. */
  readonly text: string;
}

interface Swap {
  readonly operator: string;
  readonly pattern: RegExp;
  readonly to: (match: string) => string;
}

const OTHERS: Readonly<Record<string, string>> = {
  ' == ': ' ~= ',
  ' ~= ': ' == ',
  ' < ': ' <= ',
  ' <= ': ' < ',
  ' > ': ' >= ',
  ' >= ': ' > ',
  ' and ': ' or ',
  ' or ': ' and ',
  ' + ': ' - ',
  ' - ': ' + ',
  ' * ': ' / ',
  ' / ': ' * ',
  'math.max': 'math.min',
  'math.min': 'math.max',
  'math.ceil': 'math.floor',
  true: 'false',
  false: 'true',
};

/**
 * The Lua files are formatted with spaces around operators. Strings are blanked before these are
 * looked for.
 */
const SWAPS: readonly Swap[] = [
  {
    operator: 'operator',
    pattern: / (?:==|~=|<=?|>=?|and|or|[-+*/]) /g,
    to: (match) => OTHERS[match] ?? match,
  },
  {
    operator: 'min/max',
    pattern: /math\.(?:max|min|ceil)/g,
    to: (match) => OTHERS[match] ?? match,
  },
  { operator: 'negation', pattern: /\bnot /g, to: () => '' },
  { operator: 'constant', pattern: /\b(?:true|false)\b/g, to: (match) => OTHERS[match] ?? match },
  {
    operator: 'constant',
    pattern: /(?<![\w.'])\d+(?:\.0)?(?![\w.'])/g,
    to: (match) => otherNumber(Number(match)) + (match.endsWith('.0') ? '.0' : ''),
  },
];

/** Statements of one line that may go without the text becoming another program's. */
const DROPPABLE = /^\s*(?:call\(.*\)|redis\.p?call\(.*\)|break|(?!local\b)[\w.[\] +*,-]+ = .+)$/;
const CONDITION = /^(\s*(?:if|elseif|while) )(.+)( (?:then|do))$/;

export function luaMutants(file: string, text: string, firstId: number): LuaMutant[] {
  const lines = text.split('\n');
  const changed = lines.flatMap((line, index) =>
    changesOf(line).map(([operator, after]) => ({ index, line, operator, after })),
  );
  return changed.map(({ index, line, operator, after }, i) => ({
    id: firstId + i,
    file,
    line: index + 1,
    operator,
    before: oneLine(line),
    after: oneLine(after),
    text: lines.with(index, after).join('\n'),
  }));
}

function changesOf(line: string): [operator: string, after: string][] {
  if (/^\s*--/.test(line) || line.trim() === '') return [];
  // Same length, so that places found in it are places in the line.
  const code = line.replace(/'[^']*'/g, (text) => `'${'_'.repeat(text.length - 2)}'`);
  const changes: [string, string][] = [];
  for (const { operator, pattern, to } of SWAPS) {
    for (const { 0: match, index } of code.matchAll(pattern)) {
      const after = line.slice(0, index) + to(match) + line.slice(index + match.length);
      changes.push([operator, after]);
    }
  }
  if (DROPPABLE.test(code)) changes.push(['statement', '']);
  const condition = CONDITION.exec(line);
  if (condition !== null) {
    const [, before = '', , after = ''] = condition;
    changes.push(['condition', `${before}true${after}`], ['condition', `${before}false${after}`]);
  }
  return changes;
}
