import { startServer } from '../../test/support/redis-server.js';
import { type ProgramResult, runProgram } from '../../test/tooling/run-program.js';
import { PackedProject } from '../package/packed-project.js';
import type { ClientPackage, Sample } from './markdown-samples.js';

/** Preloaded: the ports of the test's servers in place of the reader's. */
export const OWN_SERVERS: string = import.meta.resolve('./own-servers.mjs');

const withTsx = ['--import', import.meta.resolve('tsx'), '--import', OWN_SERVERS];
const WITH_TSX = [process.execPath, ...withTsx];

export type ReaderProjects = Awaited<ReturnType<typeof startReaderProjects>>;

/**
 * The surroundings of a reader: an empty project for each client package, and running servers.
 * @param packages of the repository that can be imported there beside redsem and its client
 */
export async function startReaderProjects(packages: readonly string[]) {
  const servers = [await startServer(), await startServer(), await startServer()];
  const redis = await PackedProject.create([...packages, 'redis']);
  const ioredis = await redis.beside('with-ioredis', [...packages, 'ioredis']);
  const projects: Readonly<Record<ClientPackage, PackedProject>> = { redis, ioredis };
  /** A sample without a client is run beside node-redis. */
  const of = ({ client = 'redis' }: Sample): PackedProject => projects[client];
  const [a, b, c] = servers.map(({ port }) => port);
  const ports = JSON.stringify({ localhost: a, a, b, c });
  const env = { SAMPLE_PORTS: ports, REDIS_URL: undefined, NODE_OPTIONS: '' };
  return {
    all: [redis, ioredis],
    of,
    /** Runs a file of the sample's project on servers without data. */
    run: async (
      sample: Sample,
      file: string,
      command: readonly string[] = WITH_TSX,
    ): Promise<ProgramResult> => {
      for (const server of servers) await server.command('FLUSHALL');
      return runProgram([...command, file], { env, cwd: of(sample).directory });
    },
    stop: async (): Promise<void> => {
      await redis.remove();
      for (const server of servers) await server.stop();
    },
  };
}
