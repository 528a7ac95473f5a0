import { createHash } from 'node:crypto';
import { luaSources } from './lua-sources.js';

export interface Script {
  readonly name: string;
  readonly sha1: string;
  readonly text: string;
}

const INCLUDE = /^-- include:(.*)$/;

/** By name, the files of `lua/` here and in `backends/quorum`: an operation may include fragments of either. */
const sources = new Map<string, readonly string[]>(Object.entries(luaSources));

/** The lines of a file, with those of the files that it includes. */
function compose(name: string): string[] {
  return (sources.get(name) ?? []).flatMap((line) => {
    const included = INCLUDE.exec(line)?.[1];
    return included === undefined ? line : included.split(' ').filter(Boolean).flatMap(compose);
  });
}

export function script(name: string, before: readonly string[] = []): Script {
  const text = [...before, ...compose(name)].join('\n');
  return { name, text, sha1: createHash('sha1').update(text).digest('hex') };
}

const inDialects = new Map<Script, Script>();

/** The script as it runs where something stands in for the server, see `dialect.lua`. */
export function inDialect(original: Script): Script {
  let made = inDialects.get(original);
  if (made === undefined) {
    made = script(original.name, compose('dialect'));
    inDialects.set(original, made);
  }
  return made;
}
