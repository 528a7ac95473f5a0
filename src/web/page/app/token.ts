const KEY = 'redsem-token';

/**
 * What the operator typed; kept by this tab until it is closed, never in an address or a cookie.
 */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

export function authorization(): Record<string, string> {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}
