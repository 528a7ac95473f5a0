import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';

/** A strict project of a reader's, for which `redsem` is this repository's source. */
export class SampleProject {
  readonly directory = makeTemporaryFolder();
  readonly #samples = join(this.directory, 'samples');
  readonly #modules: string | undefined;

  /** `modules`: a folder of packages that count before those of the repository. */
  constructor({ modules }: { modules?: string } = {}) {
    this.#modules = modules;
  }

  async prepare(files: ReadonlyMap<string, string>): Promise<void> {
    await mkdir(this.#samples, { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(this.directory, 'node_modules'), 'junction');
    if (this.#modules !== undefined)
      await symlink(this.#modules, join(this.#samples, 'node_modules'), 'junction');
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'es2024.string', 'esnext.disposable'],
      types: ['node'],
      skipLibCheck: true,
      experimentalDecorators: true, // as NestJS needs
      paths: {
        redsem: [join(ROOT, 'src/index.ts')],
        'redsem/otel': [join(ROOT, 'src/otel/index.ts')],
      },
    };
    const config = JSON.stringify({ compilerOptions, include: ['samples/*.ts'] });
    await this.#write('tsconfig.json', config);
    await this.#write('package.json', '{ "name": "reader", "private": true, "type": "module" }\n');
    for (const [name, text] of files) await writeFile(this.pathOf(name), text);
  }

  /** Where a file stands that was given to `prepare`. */
  pathOf(name: string): string {
    return join(this.#samples, name);
  }

  get tsconfig(): string {
    return join(this.directory, 'tsconfig.json');
  }

  async compile(): Promise<void> {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await runOrThrow(process.execPath, [tsc, '-p', '.'], this.directory);
  }

  remove(): Promise<void> {
    return removeTemporaryFolder(this.directory);
  }

  #write(name: string, text: string): Promise<void> {
    return writeFile(join(this.directory, name), text);
  }
}
