import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { type ProgramResult, runProgram } from '../../test/tooling/run-program.js';
import { PackedProject } from '../package/packed-project.js';
import type { ClientPackage, Sample } from './markdown-samples.js';

/** Preloaded: the ports of the test's servers in place of the reader's. */
export const OWN_SERVERS: string = import.meta.resolve('./own-servers.mjs');

const WITH_TSX = [
  process.execPath,
  '--import',
  import.meta.resolve('tsx'),
  '--import',
  OWN_SERVERS,
];

/** The surroundings of a reader: an empty project for each client package, and running servers. */
export class ReaderProjects {
  readonly all: readonly PackedProject[];
  readonly #of: Readonly<Record<ClientPackage, PackedProject>>;
  readonly #servers: readonly TestServer[];

  private constructor(
    of: Readonly<Record<ClientPackage, PackedProject>>,
    servers: readonly TestServer[],
  ) {
    this.all = Object.values(of);
    this.#of = of;
    this.#servers = servers;
  }

  /** @param packages of the repository that can be imported there beside redsem and its client */
  static async create(packages: readonly string[]): Promise<ReaderProjects> {
    const servers = [await startServer(), await startServer(), await startServer()];
    const redis = await PackedProject.create([...packages, 'redis']);
    const ioredis = await redis.beside('with-ioredis', [...packages, 'ioredis']);
    return new ReaderProjects({ redis, ioredis }, servers);
  }

  /** A sample without a client is run beside node-redis. */
  of({ client = 'redis' }: Sample): PackedProject {
    return this.#of[client];
  }

  /** Runs a file of the sample's project on servers without data. */
  async run(
    sample: Sample,
    file: string,
    command: readonly string[] = WITH_TSX,
  ): Promise<ProgramResult> {
    for (const server of this.#servers) await server.command('FLUSHALL');
    const [a, b, c] = this.#servers.map(({ port }) => port);
    const ports = JSON.stringify({ localhost: a, a, b, c });
    const env = { SAMPLE_PORTS: ports, REDIS_URL: undefined, NODE_OPTIONS: '' };
    return runProgram([...command, file], { env, cwd: this.of(sample).directory });
  }

  async stop(): Promise<void> {
    await this.#of.redis.remove();
    for (const server of this.#servers) await server.stop();
  }
}
