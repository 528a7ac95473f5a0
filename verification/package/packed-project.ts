import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';

/** All that the package is made of, and made with. */
const SOURCES = [
  'package.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'src',
  'scripts',
  'tsconfig.json',
  'tsconfig.build.json',
] as const;

interface PackReport {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** The tarball that would be published, and an empty project that has it installed. */
export class PackedProject {
  readonly #root: string;
  readonly #report: PackReport;

  private constructor(root: string, report: PackReport) {
    this.#root = root;
    this.#report = report;
  }

  static async create(): Promise<PackedProject> {
    const root = await mkdtemp(join(tmpdir(), 'redsem-packed-'));
    try {
      const project = new PackedProject(root, await packSources(root));
      await project.#install();
      return project;
    } catch (error) {
      await rm(root, { recursive: true, force: true });
      throw error;
    }
  }

  get tarball(): string {
    return join(this.#root, this.#report.filename);
  }

  get unpackedSize(): number {
    return this.#report.unpackedSize;
  }

  get files(): string[] {
    return this.#report.files.map((file) => file.path);
  }

  /** Where the tarball is installed. */
  get directory(): string {
    return join(this.#root, 'project');
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.directory, name), text);
  }

  /** Makes a package of the repository importable in the project under the same name. */
  async link(name: string): Promise<void> {
    const target = join(this.directory, 'node_modules', name);
    await mkdir(join(target, '..'), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), target, 'junction');
  }

  remove(): Promise<void> {
    return rm(this.#root, { recursive: true, force: true });
  }

  async #install(): Promise<void> {
    await mkdir(this.directory);
    await this.write('package.json', '{ "name": "consumer", "private": true, "type": "module" }\n');
    // Offline, with the one dependency as a tarball: another that crept in makes this fail.
    const flags = ['--no-save', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
    const cache = join(this.#root, 'npm-cache');
    const { filename } = await pack(this.#root, join(ROOT, 'node_modules', 'xxhash-wasm'));
    const tarballs = [this.tarball, join(this.#root, filename)];
    await runOrThrow('npm', ['install', ...flags, '--cache', cache, ...tarballs], this.directory);
  }
}

/** Packing empties and builds `dist`: in a copy, for another test may do the same at the same time. */
async function packSources(root: string): Promise<PackReport> {
  const copy = join(root, 'sources');
  await mkdir(copy);
  for (const name of SOURCES) await cp(join(ROOT, name), join(copy, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
  return pack(root, copy);
}

async function pack(destination: string, folder: string): Promise<PackReport> {
  const flags = ['--json', '--foreground-scripts=false', '--pack-destination', destination];
  const args = ['pack', ...flags, folder];
  const { stdout } = await runOrThrow('npm', args);
  const [report] = JSON.parse(stdout) as PackReport[];
  if (report === undefined) throw new Error(`npm pack reported nothing: ${stdout}`);
  return report;
}
