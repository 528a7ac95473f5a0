/**
 * A set of nodes as it is sent and stored: the names of the nodes of each list with `,` between
 * them, the lists with `+` between them, all in order, so that every process that lists the same
 * nodes in whatever order says the same.
 */
export function setName(lists: readonly (readonly string[])[]): string {
  return lists
    .map((names) => names.map(encode).toSorted().join(','))
    .toSorted()
    .join('+');
}

/** As messages show it. */
export function formatSet(set: string): string {
  return set
    .split('+')
    .map((list) => list.split(',').map(decodeURIComponent).join(', '))
    .join(' and ');
}

/**
 * Then a caller that needs a majority of both lists of one set agrees with callers that need a
 * majority of one of them.
 */
export function haveCommonList(a: string, b: string): boolean {
  const lists = new Set(a.split('+'));
  return b.split('+').some((list) => lists.has(list));
}

/** Whether two sets could be the same nodes under other names, as seen through a proxy. */
export function couldBeAliases(a: string, b: string): boolean {
  return !a.includes('+') && !b.includes('+') && a.split(',').length === b.split(',').length;
}

/** Nothing that separates or marks, neither here nor in a script's reply. */
function encode(name: string): string {
  return encodeURIComponent(name)
    .replaceAll('%3A', ':')
    .replaceAll('%2F', '/')
    .replace(/^-/, '%2D');
}
