const HIDDEN = '***';

/**
 * The part of a URL before its last `@`: a password may contain any other character, also
 * unescaped. The second form is a URL that is percent-encoded as a whole, once or more often.
 */
const LOGIN = /((?:[a-z][a-z\d+.-]{0,30}:)?\/\/)\S*@/gi;
const ENCODED_LOGIN = /(%(?:25)*3a(?:%(?:25)*2f){2})\S*%(?:25)*40/gi;

/** `?password=…`, which clients also accept. */
const SECRET_PARAMETER = /([?&][\w-]*(?:pass|password|passwd|secret|token|auth)=)[^&#\s]*/gi;

/** A URL without its scheme. */
const BARE_LOGIN = /[^\s/]*:\S*@/g;

/** A text without the credentials of the URLs in it. */
export function withoutCredentials(text: string): string {
  if (!/[@?&]|%(?:25)*40/.test(text)) return text;
  return text
    .replace(LOGIN, `$1${HIDDEN}@`)
    .replace(ENCODED_LOGIN, `$1${HIDDEN}%40`)
    .replace(SECRET_PARAMETER, `$1${HIDDEN}`);
}

/** A text without logins that have no scheme; the others are left to `withoutCredentials`. */
export function withoutBareLogins(text: string): string {
  return text.replace(BARE_LOGIN, (login) => (login.includes('//') ? login : `${HIDDEN}@`));
}
