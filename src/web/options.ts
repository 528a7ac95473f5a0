import { checkOptions } from '../arguments/known-options.js';
import { formatValue } from '../arguments/shown.js';
import { checkName, checkType, rangeError, typeError } from '../arguments/validation.js';
import { checkClock, checkFunction, checkPrefix } from '../arguments/resolve.js';
import type { Clock } from '../time/clock.js';

/** The options of `webView`. */
export interface WebViewOptions {
  /** The view shows the semaphores with this prefix, as in `SemaphoreOptions`. Default `redsem`. */
  readonly prefix?: string | undefined;
  /**
   * The path under which browsers see the view: `/semaphores` for
   * `https://example.com/semaphores/`. Default: the root.
   */
  readonly basePath?: string | undefined;
  /** Whether the view can change limits and revoke tickets. Default false: it only shows. */
  readonly actions?: boolean | undefined;
  /**
   * Called before every request is served, also for the page and its style: `true` lets the request
   * in, `false` refuses it with 403, and a `Response` is sent instead, for example to a login. If
   * it throws, the answer is 500 and `onError` gets the error. Default: every request is let in.
   */
  readonly authorize?:
    ((request: Request) => boolean | Response | Promise<boolean | Response>) | undefined;
  /**
   * The token that requests for data must have as `Authorization: Bearer …`, at least 16
   * characters; the page asks for it. It is compared in constant time. Default: no token is needed.
   */
  readonly token?: string | undefined;
  /**
   * The values of `Host` that are served, with their port unless it is the default port. Any other
   * value is refused with 421, against DNS rebinding (https://en.wikipedia.org/wiki/DNS_rebinding).
   * Default: any, because the server around the view has its own check.
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * The scheme and host under which browsers see the view, `https://ops.example.com`, behind a
   * proxy: `request.url` in `authorize` has them, and changes come from there. Default: scheme and
   * host of the request; the bridges of `redsem/web/node` take them from `Host` and the connection.
   */
  readonly origin?: string | undefined;
  /**
   * Gets every failure: an error of `authorize`, a change that the server did not make, a broken
   * stream. A server that is away is no failure of the view: its answers show it. An error of
   * `onError` itself goes to `console.error`. Default: `console.error`, once a minute at most.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined;
  /** Names that are always in the list: needed on several masters, which have no list of names. */
  readonly names?: readonly string[] | undefined;
  /** For tests. Default: the backend's own clock if it has one, else the process's. */
  readonly clock?: Clock | undefined;
}

/** `WebViewOptions` checked and with defaults. */
export interface ResolvedView extends Omit<WebViewOptions, 'hosts'> {
  readonly prefix: string;
  readonly basePath: string;
  readonly actions: boolean;
  readonly hosts: ReadonlySet<string> | undefined;
  readonly names: readonly string[];
}

const SHORTEST_TOKEN = 16;

export function resolveView(options: WebViewOptions): ResolvedView {
  checkOptions(options, 'prefix basePath actions authorize token hosts origin onError names clock');
  const { actions = false, authorize, onError, token, origin, clock } = options;
  const hosts = options.hosts === undefined ? undefined : texts('hosts', options.hosts);
  checkType(typeof actions === 'boolean', 'actions', 'true or false', actions);
  if (authorize !== undefined) checkFunction('authorize', authorize);
  if (onError !== undefined) checkFunction('onError', onError);
  return {
    prefix: checkPrefix(options.prefix),
    basePath: checkBasePath(text('basePath', options.basePath ?? '')),
    actions,
    authorize,
    token: token === undefined ? undefined : checkToken(token),
    hosts: hosts && new Set(hosts.map((host) => host.toLowerCase())),
    origin: origin === undefined ? undefined : checkOrigin(text('origin', origin)),
    onError,
    names: texts('names', options.names ?? []).map(checkName),
    clock: clock === undefined ? undefined : checkClock(clock),
  };
}

/**
 * Printable ASCII without spaces, as a header can carry it.
 * @throws {TypeError | RangeError}
 */
export function checkToken(token: unknown): string {
  // A token is a secret: no message shows it.
  if (typeof token !== 'string')
    throw typeError(`token: expected a string, got ${token === null ? 'null' : typeof token}`);
  if (token.length < SHORTEST_TOKEN || !/^[!-~]+$/.test(token)) {
    throw rangeError(
      `token: expected ${SHORTEST_TOKEN} printable ASCII characters or more, without spaces, got another text`,
    );
  }
  return token;
}

/** Without the slash at its end. */
function checkBasePath(path: string): string {
  const plain = path.replace(/\/$/, '');
  if (plain === '' || /^(?:\/[\w.~!$&'()*+,;=:@%-]+)+$/.test(plain)) return plain;
  throw rangeError(`basePath: expected a path such as /semaphores, got ${formatValue(path)}`);
}

/** As browsers write it: without a path and without the default port. */
function checkOrigin(origin: string): string {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin;
  }
  throw rangeError(
    `origin: expected a scheme and a host such as https://ops.example.com, got ${formatValue(origin)}`,
  );
}

function texts(option: string, value: unknown): readonly string[] {
  checkType(Array.isArray(value), option, 'an array of strings', value);
  return value.map((each) => text(option, each, 'an array of strings, got one with'));
}

function text(option: string, value: unknown, expected = 'a string, got'): string {
  if (typeof value === 'string') return value;
  throw typeError(`${option}: expected ${expected} ${formatValue(value)}`);
}
