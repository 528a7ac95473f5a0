import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect } from 'chai';

import { type ClientKind, clientKinds, connectionTo, openClient } from '../support/open-client.js';
import { describeWithServer } from '../support/require-server.js';

describeWithServer('a connection that is reset', (server) => {
  /** The client's own connection. */
  async function opened(kind: ClientKind) {
    const sockets: Socket[] = [];
    const note = (message: unknown): void => {
      sockets.push((message as { socket: Socket }).socket);
    };
    subscribe('net.client.socket', note);
    const client = await openClient(kind, server().url);
    unsubscribe('net.client.socket', note);
    return { ...client, socket: sockets[0] };
  }

  for (const kind of clientKinds) {
    it(`between a call and its write gives no call the reply of another (${kind})`, async () => {
      const client = await opened(kind);
      const connection = connectionTo(client.target);
      const ask = (text: string) => connection.runByText('return ARGV[1]', [], [text]);
      const lost = ask('lost').catch(String);
      client.socket?.destroy(new Error('ECONNRESET'));
      try {
        expect(await lost).to.match(/^lost$|ECONNRESET/);
        const texts = ['one', 'two', 'three'];
        expect(await Promise.all(texts.map(ask))).to.deep.equal(texts);
      } finally {
        await client.close();
      }
    });
  }
});
