import type { SyntaxNode } from './syntax-tree.js';
import { nodeAt } from './syntax-tree.js';

export interface Change {
  readonly operator: string;
  /** The replacement for the node's whole text. */
  readonly after: string;
}

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '||=': ['&&='],
  '??=': ['='],
};

/** The changes that are possible in an expression; `text` is the whole file. */
export function changesOfExpression(node: SyntaxNode, text: string): Change[] {
  const own = (part: SyntaxNode): string => text.slice(...part.range);
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return otherOperators(node, own);
    case 'UnaryExpression':
      return withArgument(node, node['operator'] === '!' ? 'negation' : undefined, own);
    case 'AwaitExpression':
      return withArgument(node, 'await', own);
    case 'UpdateExpression':
      return [{ operator: 'step', after: swap(own(node), '++', '--') }];
    case 'ConditionalExpression':
      return conditions(node, own);
    case 'CallExpression':
      return calls(node, own);
    case 'ChainExpression':
      return [{ operator: 'optional chain', after: own(node).replace(/\?\.(?=([[(])?)/, dotOf) }];
    case 'Literal':
      return literals(node, own(node));
    default:
      return [];
  }
}

/** Statements that may be dropped whole. */
export function isDroppable(node: SyntaxNode, text: string): boolean {
  if (node.type === 'ExpressionStatement') return !/^super\b/.test(text.slice(...node.range));
  return ['ReturnStatement', 'ThrowStatement', 'BreakStatement', 'ContinueStatement'].includes(
    node.type,
  );
}

function otherOperators(node: SyntaxNode, own: (part: SyntaxNode) => string): Change[] {
  const [left, right] = [nodeAt(node, 'left'), nodeAt(node, 'right')];
  if (left === undefined || right === undefined) return [];
  const others = OPERATORS[String(node['operator'])] ?? [];
  return others
    .map((operator) => {
      return { operator: 'operator', after: `(${own(left)}) ${operator} (${own(right)})` };
    })
    .map((change) => (isAssignment(node) ? unwrapLeft(change, own(left)) : change));
}

function isAssignment({ type }: SyntaxNode): boolean {
  return type === 'AssignmentExpression';
}

function unwrapLeft({ operator, after }: Change, left: string): Change {
  return { operator, after: after.replace(`(${left})`, () => left) };
}

function withArgument(
  node: SyntaxNode,
  operator: string | undefined,
  own: (part: SyntaxNode) => string,
): Change[] {
  const argument = nodeAt(node, 'argument');
  return operator === undefined || argument === undefined
    ? []
    : [{ operator, after: own(argument) }];
}

function conditions(node: SyntaxNode, own: (part: SyntaxNode) => string): Change[] {
  return ['consequent', 'alternate'].flatMap((branch) => {
    const part = nodeAt(node, branch);
    return part === undefined ? [] : [{ operator: 'condition', after: own(part) }];
  });
}

function calls(node: SyntaxNode, own: (part: SyntaxNode) => string): Change[] {
  const text = own(node);
  if (!/^Math\.(?:min|max)\(/.test(text)) return [];
  return [{ operator: 'min/max', after: swap(text, 'Math.min(', 'Math.max(') }];
}

function literals(node: SyntaxNode, text: string): Change[] {
  const { value } = node;
  if (typeof value === 'boolean') return [{ operator: 'constant', after: String(!value) }];
  if (typeof value === 'number') return [{ operator: 'constant', after: otherNumber(value) }];
  if (typeof value === 'string') {
    return [{ operator: 'constant', after: value === '' ? "'mutant'" : "''" }];
  }
  return 'regex' in node ? patterns(text) : [];
}

/** Each word of a pattern is taken out once, and the whole pattern matches nothing once. */
function patterns(text: string): Change[] {
  const words = [...text.matchAll(/(?<!\\)[A-Za-z]{3,}|(?<=\\[A-Za-z])[A-Za-z]{3,}/g)].map(
    ({ 0: word, index }) => {
      return `${text.slice(0, index)}(?!)${text.slice(index + word.length)}`;
    },
  );
  return ['/(?!)/', '/(?:)/', ...words].map((after) => ({ operator: 'pattern', after }));
}

/** Times are doubled, because hardly any promise depends on one millisecond more. */
export function otherNumber(value: number): string {
  return String(value < 100 ? value + 1 : value * 2);
}

function dotOf(_match: string, bracket: string | undefined): string {
  return bracket === undefined ? '.' : '';
}

function swap(text: string, a: string, b: string): string {
  if (text.startsWith(a) || text.endsWith(a)) return text.replace(a, b);
  return text.replace(b, a);
}
