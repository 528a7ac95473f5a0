import { createConnection } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';

const PATIENCE = 10_000;

/** An error reply of the server, as it stood on the wire. */
export class RespError extends Error {
  override readonly name = 'RespError';
}

/**
 * Sends one command over a separate connection and gives the parsed reply; an error reply rejects.
 * The timers are the module's, which fake clocks leave alone.
 */
export function sendRespCommand(port: number, args: readonly string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
    let received = Buffer.alloc(0);
    const fail = (problem: string): void => {
      socket.destroy(new Error(`${args[0] ?? ''} to port ${port}: ${problem}`));
    };
    const timer = setTimeout(() => fail(`no reply within ${PATIENCE} ms`), PATIENCE);
    const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
    socket.write(`*${args.length}\r\n${parts.join('')}`);
    socket.on('error', reject);
    socket.on('close', () => clearTimeout(timer));
    socket.on('end', () => fail('the connection ended before the reply'));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const reply = parseReply(received, 0);
      if (reply === undefined) return;
      if (reply.value instanceof RespError) reject(reply.value);
      else resolve(reply.value);
      socket.destroy();
    });
  });
}

/** Reads one RESP2 reply that begins at `start`; undefined while bytes are missing. */
function parseReply(bytes: Buffer, start: number): { value: unknown; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  const line = bytes.toString('utf8', start + 1, lineEnd);
  let end = lineEnd + 2;
  if (kind === '+') return { value: line, end };
  if (kind === '-') return { value: new RespError(line), end };
  if (kind === ':') return { value: Number(line), end };
  if (kind !== '$' && kind !== '*') throw new Error(`not a RESP2 reply: ${kind}${line}`);
  const length = Number(line);
  if (length === -1) return { value: null, end };
  if (kind === '$') {
    if (bytes.length < end + length + 2) return undefined;
    return { value: bytes.toString('utf8', end, end + length), end: end + length + 2 };
  }
  const values: unknown[] = [];
  while (values.length < length) {
    const element = parseReply(bytes, end);
    if (element === undefined) return undefined;
    values.push(element.value);
    end = element.end;
  }
  return { value: values, end };
}
