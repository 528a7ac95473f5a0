import { parsers } from 'prettier/plugins/typescript';

/** A node of the tree that prettier's TypeScript parser makes (ESTree with TypeScript's types). */
export interface SyntaxNode {
  readonly type: string;
  readonly range: readonly [from: number, to: number];
  readonly [property: string]: unknown;
}

/** Syntax of types that holds an expression. */
const TYPED_EXPRESSIONS = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
]);

/** Nodes that name or bind and are no expressions: a change would only be a syntax error. */
const NOT_EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  AssignmentExpression: ['left'],
  UpdateExpression: ['argument'],
  ForOfStatement: ['left'],
  AssignmentPattern: ['left'],
  VariableDeclarator: ['id'],
  ImportDeclaration: ['source', 'specifiers', 'attributes'],
  ExportAllDeclaration: ['source'],
};

export async function parseTypeScript(text: string): Promise<SyntaxNode> {
  const { parse } = parsers.typescript;
  // Prettier passes its resolved options to a parser; this one reads no more than the path.
  const tree: unknown = await Reflect.apply(parse, parsers.typescript, [
    text,
    { filepath: 'source.ts' },
  ]);
  if (!isNode(tree)) throw new Error('the parser gave no tree');
  return tree;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'range' in value;
}

export function nodeAt(node: SyntaxNode, property: string): SyntaxNode | undefined {
  const value = node[property];
  return isNode(value) ? value : undefined;
}

/** The nodes below that run, in the order of the text. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (const [property, value] of Object.entries(node)) {
    if (isSkipped(node, property)) continue;
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child) && runs(child)) children.push(child);
    }
  }
  return children.toSorted((a, b) => a.range[0] - b.range[0]);
}

function isSkipped(node: SyntaxNode, property: string): boolean {
  if (['tokens', 'comments', 'loc', 'parent'].includes(property)) return true;
  if ((NOT_EXPRESSIONS[node.type] ?? []).includes(property)) return true;
  return ['key', 'property'].includes(property) && node['computed'] !== true;
}

function runs({ type }: SyntaxNode): boolean {
  return !type.startsWith('TS') || TYPED_EXPRESSIONS.has(type);
}
