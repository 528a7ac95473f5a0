import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { ROOT, runNode, runProgram } from '../../test/tooling/run-program.js';

/** All that the package is made of, and made with. */
const SOURCES =
  'package.json README.md LICENSE CHANGELOG.md docs/reference src scripts tsconfig.json';
export const TSC: string = join(ROOT, 'node_modules/typescript/bin/tsc');

interface PackReport {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** The tarball that would be published, and an empty project that has it installed. */
export class PackedProject {
  readonly report: PackReport;
  readonly tarball: string;
  /** Where the tarball is installed. */
  readonly directory: string;
  readonly #root: string;

  private constructor(root: string, report: PackReport, name: string) {
    this.#root = root;
    this.report = report;
    this.tarball = join(root, report.filename);
    this.directory = join(root, name);
  }

  /** @param packages of the repository that can be imported there */
  static async create(packages: readonly string[]): Promise<PackedProject> {
    const root = makeTemporaryFolder();
    // Packing empties and builds `dist`: in a copy, because the repository may be in use.
    const copy = join(root, 'sources');
    for (const name of [...SOURCES.split(' '), 'tsconfig.build.json'])
      await cp(join(ROOT, name), join(copy, name), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
    const project = new PackedProject(root, await pack(root, copy), 'project');
    await project.#install(packages);
    return project;
  }

  /** Another empty project, with the same tarball and other packages. */
  async beside(name: string, packages: readonly string[]): Promise<PackedProject> {
    const project = new PackedProject(this.#root, this.report, name);
    await project.#install(packages);
    return project;
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.directory, name)), { recursive: true });
    await writeFile(join(this.directory, name), text);
  }

  /** Links `path` of the project to a path of the repository. */
  async link(path: string, from: string): Promise<void> {
    const target = join(this.directory, path);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(ROOT, from), target, 'junction');
  }

  /** Compiles files in a strict project that checks libraries, too. */
  async compile(
    include: readonly string[],
    options: object = {},
    tsc: string = TSC,
  ): Promise<void> {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      target: 'es2022',
      lib: ['es2022', 'esnext.disposable'],
      module: 'nodenext',
      types: ['node'],
      skipLibCheck: false,
      noEmit: true,
      ...options,
    };
    await this.write('tsconfig.json', JSON.stringify({ compilerOptions, include }));
    await runNode([tsc], this.directory);
  }

  remove(): Promise<void> {
    return removeTemporaryFolder(this.#root);
  }

  /** As a reader begins, but offline: a dependency at run time would make this fail. */
  async #install(packages: readonly string[]): Promise<void> {
    await mkdir(this.directory);
    await npm(['init', '--yes'], this.directory);
    const cache = ['--offline', '--cache', join(this.#root, 'npm-cache'), '--ignore-scripts'];
    const flags = [...cache, '--no-save', '--no-audit', '--no-fund'];
    await npm(['install', ...flags, this.tarball], this.directory);
    for (const name of packages) await this.link(`node_modules/${name}`, `node_modules/${name}`);
  }
}

async function pack(destination: string, folder: string): Promise<PackReport> {
  const flags = ['--json', '--foreground-scripts=false', '--pack-destination', destination];
  const [report] = JSON.parse(await npm(['pack', ...flags, folder])) as PackReport[];
  return report!;
}

async function npm(args: readonly string[], cwd: string = ROOT): Promise<string> {
  const { code, stdout, stderr } = await runProgram(['npm', ...args], { cwd });
  if (code !== 0) throw new Error(`npm ${args.join(' ')} exited with ${code}\n${stdout}${stderr}`);
  return stdout;
}
