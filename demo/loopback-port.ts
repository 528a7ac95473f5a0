import type { Server } from 'node:net';

/** Listens on a free port of 127.0.0.1 and returns it. */
export function listenOnLoopback(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address.port);
      else reject(new Error('listening, but on no port'));
    });
  });
}
