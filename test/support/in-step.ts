import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect } from 'chai';

import { connectionTo, type OpenClient } from './open-client.js';

/** Resets a connection. */
export function reset(socket: Socket): void {
  socket.destroy(new Error('ECONNRESET'));
}

/** Resets a connection once it has half of what comes next. */
export function resetInReply(socket: Socket): void {
  const push = socket.push.bind(socket);
  socket.push = (bytes: Buffer) => {
    socket.push = push;
    const goesOn = push(bytes.subarray(0, bytes.length / 2));
    reset(socket);
    return goesOn;
  };
}

/** The client's connections are broken between a call and its write. */
export async function expectInStep(
  open: () => Promise<OpenClient>,
  breakOff = reset,
): Promise<void> {
  const sockets: Socket[] = [];
  const note = (message: unknown): void => {
    sockets.push((message as { socket: Socket }).socket);
  };
  subscribe('net.client.socket', note);
  const client = await open().finally(() => unsubscribe('net.client.socket', note));
  const connection = connectionTo(client.target);
  const ask = (text: string) => connection.runByText('return ARGV[1]', ['key'], [text]);
  try {
    const lost = ask('lost').catch(String);
    // A cluster and a sentinel client choose a connection first.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    for (const socket of sockets) breakOff(socket);
    expect(await lost).to.match(/^lost$|ECONNRESET/);
    const texts = ['one', 'two', 'three'];
    expect(await Promise.all(texts.map(ask))).to.deep.equal(texts);
  } finally {
    await client.close();
  }
}
