import type { Mutant } from './mutant.js';
import { MUTANT_SWITCH } from './mutant-switch.js';
import { oneLine } from './mutant.js';
import type { SyntaxNode } from './syntax-tree.js';
import { childrenOf, nodeAt, parseTypeScript } from './syntax-tree.js';
import type { Change } from './typescript-operators.js';
import { changesOfExpression, isDroppable } from './typescript-operators.js';

export interface InstrumentedFile {
  readonly file: string;
  /** The source with all its mutants in it, each behind a question to `MUTANT_SWITCH`. */
  readonly text: string;
  readonly mutants: readonly Mutant[];
}

/** Statements with a condition that is made always true and always false. */
const CONDITIONAL = new Set(['IfStatement', 'WhileStatement', 'DoWhileStatement', 'ForStatement']);

/**
 * All mutants of a file in one text, so that the tree is built once and not once for each. The
 * idea: Stryker's mutant switching
 * (https://stryker-mutator.io/blog/announcing-stryker-4-mutation-switching/).
 */
export async function instrument(
  file: string,
  text: string,
  firstId: number,
): Promise<InstrumentedFile> {
  const mutants: Mutant[] = [];
  const note = (node: SyntaxNode, { operator, after }: Change): string => {
    const id = firstId + mutants.length;
    const line = text.slice(0, node.range[0]).split('\n').length;
    const before = oneLine(text.slice(...node.range));
    mutants.push({ id, file, line, operator, before, after: oneLine(after) });
    return `${MUTANT_SWITCH}(${id})`;
  };
  const instrumented = render(await parseTypeScript(text), text, note);
  return { file, text: instrumented, mutants };
}

type Note = (node: SyntaxNode, change: Change) => string;

function render(node: SyntaxNode, text: string, note: Note): string {
  if (isMessage(node, text)) return text.slice(...node.range);
  if (node.type === 'ImportDeclaration') return text.slice(...node.range);
  const inner = renderChildren(node, text, note);
  if (isDroppable(node, text)) {
    return `{ if (!${note(node, { operator: 'statement', after: '' })}) { ${inner} } }`;
  }
  const changes = changesOfExpression(node, text);
  return changes.reduceRight(
    (rest, change) => `(${note(node, change)} ? (${change.after}) : ${rest})`,
    changes.length > 0 ? `(${inner})` : inner,
  );
}

function renderChildren(node: SyntaxNode, text: string, note: Note): string {
  let [rendered, at] = ['', node.range[0]];
  for (const child of childrenOf(node)) {
    rendered += text.slice(at, child.range[0]);
    const inner = render(child, text, note);
    const isTest = CONDITIONAL.has(node.type) && nodeAt(node, 'test') === child;
    rendered += isTest ? renderTest(child, inner, note) : inner;
    at = child.range[1];
  }
  return rendered + text.slice(at, node.range[1]);
}

function renderTest(test: SyntaxNode, inner: string, note: Note): string {
  const always = note(test, { operator: 'condition', after: 'true' });
  const never = note(test, { operator: 'condition', after: 'false' });
  return `(${always} || (!${never} && (${inner})))`;
}

/** The words of messages are for people, so a mutant changes none of them. */
function isMessage(node: SyntaxNode, text: string): boolean {
  if (node.type === 'TemplateElement') return true;
  const isSuper = node.type === 'CallExpression' && nodeAt(node, 'callee')?.type === 'Super';
  const isError =
    node.type === 'NewExpression' && /^new \w*Error\(/.test(text.slice(...node.range));
  return isSuper || isError;
}
