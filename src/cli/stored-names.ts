/** The one of a semaphore's keys that stays longest. */
export function metaKey(prefix: string, name: string): string {
  return `${prefix}:{${name.replace(/[{}%]/g, (sign) => ESCAPES[sign] ?? sign)}}:meta`;
}

/** What SCAN is to match for all such keys. */
export function metaPattern(prefix: string): string {
  return `${prefix.replace(/[\\*?[\]]/g, String.raw`\$&`)}:{*}:meta`;
}

/** What the library allows, in bytes. */
const LONGEST_NAME = 512;

/** The semaphore's name in such a key; undefined for a key of somebody else's that looks like one. */
export function nameInMetaKey(prefix: string, key: string): string | undefined {
  const [start, end] = [`${prefix}:{`, '}:meta'];
  if (!key.startsWith(start) || !key.endsWith(end)) return undefined;
  const tag = key.slice(start.length, -end.length);
  const name = tag.replace(/%7B|%7D|%25/g, (escape) => SIGNS[escape] ?? escape);
  if (name === '' || Buffer.byteLength(name) > LONGEST_NAME) return undefined;
  return metaKey(prefix, name) === key ? name : undefined;
}

// As in the keys of the library, see its `redis/keys.ts`; a test holds the two together.
const ESCAPES: Record<string, string> = { '{': '%7B', '}': '%7D', '%': '%25' };
const SIGNS: Record<string, string> = { '%7B': '{', '%7D': '}', '%25': '%' };
