import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Processor time that a program takes from its start to its end, user and system, in milliseconds:
 * the mean of some runs.
 */
export async function cpuOf(
  words: readonly string[],
  runs: number,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  // The shell's count of the time of the programs that it waited for.
  const script = `for i in $(seq ${runs}); do "$@" || exit; done; times`;
  const shell = ['-c', script, 'sh', ...words];
  const { stdout } = await promisify(execFile)('sh', shell, { env: { ...process.env, ...env } });
  const [, children = ''] = stdout.trim().split('\n');
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  if (times.length !== 2) throw new Error(`times printed ${JSON.stringify(stdout)}`);
  const seconds = times.map(([, minutes, rest]) => Number(minutes) * 60 + Number(rest));
  return (seconds.reduce((sum, each) => sum + each, 0) * 1000) / runs;
}
