/** An error reply of the server, as it stood on the wire. */
export class RespError extends Error {
  override readonly name = 'RespError';
}

interface Parsed {
  readonly value: unknown;
  readonly end: number;
}

/** Reads one RESP2 reply that begins at `start`; undefined while bytes are missing. */
export function parseReply(bytes: Buffer, start = 0): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  const line = bytes.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (kind) {
    case '+':
      return { value: line, end };
    case '-':
      return { value: new RespError(line), end };
    case ':':
      return { value: Number(line), end };
    case '$':
      return parseBulk(bytes, end, Number(line));
    case '*':
      return parseArray(bytes, end, Number(line));
    default:
      throw new Error(`not a RESP2 reply: ${kind}${line}`);
  }
}

function parseBulk(bytes: Buffer, start: number, length: number): Parsed | undefined {
  if (length === -1) return { value: null, end: start };
  const end = start + length;
  if (bytes.length < end + 2) return undefined;
  return { value: bytes.toString('utf8', start, end), end: end + 2 };
}

function parseArray(bytes: Buffer, start: number, length: number): Parsed | undefined {
  if (length === -1) return { value: null, end: start };
  const values: unknown[] = [];
  let end = start;
  for (let index = 0; index < length; index += 1) {
    const element = parseReply(bytes, end);
    if (element === undefined) return undefined;
    values.push(element.value);
    end = element.end;
  }
  return { value: values, end };
}
