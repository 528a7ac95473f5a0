/** The name of the semaphore that the address shows; undefined for the list. */
export function currentName(): string | undefined {
  const [, encoded = ''] = /^#\/(.+)$/.exec(location.hash) ?? [];
  if (encoded === '') return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

export function addressOf(name?: string): string {
  return name === undefined ? '#/' : `#/${encodeURIComponent(name)}`;
}
