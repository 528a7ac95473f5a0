/** What a worker process gets to know, in its environment. */
export interface Assignment {
  readonly worker: number;
  readonly redisUrl: string;
  readonly judgeUrl: string;
  readonly prefix: string;
  readonly limit: number;
  readonly ttl: number;
}

const START = 'REDSEM_DEMO_';

export function toEnvironment(assignment: Assignment): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(assignment)) environment[START + name] = String(value);
  return environment;
}

export function fromEnvironment(): Assignment {
  return {
    worker: Number(read('worker')),
    redisUrl: read('redisUrl'),
    judgeUrl: read('judgeUrl'),
    prefix: read('prefix'),
    limit: Number(read('limit')),
    ttl: Number(read('ttl')),
  };
}

function read(name: keyof Assignment): string {
  const value = process.env[START + name];
  if (value === undefined) throw new Error('this file is started by the demo, not by hand');
  return value;
}
