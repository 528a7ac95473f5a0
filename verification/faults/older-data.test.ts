import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { eventually } from '../../test/support/eventually.js';
import { Crew, WORKERS } from './crew.js';

describeWithServer('data that comes back a little older', (server) => {
  itThroughBothClients('hands no permit to what was served since: a restart', async (bench) => {
    const crew = await startCrew(bench, server().port);
    await crew.claimed();
    await server().command('SAVE');
    await crew.serve(10);
    await server().kill();
    await server().restart();
    await crew.serve(10);
    await crew.stop();
  });

  itThroughBothClients('hands no permit to what was served since: a queue', async (bench) => {
    const crew = await startCrew(bench, server().port);
    const key = `redsem:{${crew.name}}:queue`;
    await server().command('COPY', key, `${key}:old`);
    await crew.serve(WORKERS + 2);
    await server().command('RENAME', `${key}:old`, key);
    await crew.serve(WORKERS + 2);
    await crew.stop();
  });

  describe('on a replica', () => {
    let replica: TestServer;
    let replication: FaultProxy;
    let relay: Relay;

    beforeEach(async () => {
      replica = await startServer();
      replication = await startProxy(server().port);
      relay = await Relay.start(server().port);
      await replica.command('REPLICAOF', '127.0.0.1', String(replication.port));
      await eventually(async () => {
        return (await replica.stat('replication', 'master_link_status')) === 'up';
      }, 'the replica has its data');
    });

    afterEach(async () => {
      relay.stop();
      await replication.stop();
      await replica.stop();
    });

    itThroughBothClients('hands no permit to what was served since: a failover', async (bench) => {
      const crew = await startCrew(bench, relay.port);
      await eventually(async () => {
        return Number(await replica.command('ZCARD', `redsem:{${crew.name}}:queue`)) > 0;
      }, 'the replica has the queue');
      await crew.claimed();
      replication.hang(true);
      await crew.serve(WORKERS + 2);
      await replica.command('REPLICAOF', 'NO', 'ONE');
      relay.turnTo(replica.port);
      await crew.serve(10);
      await crew.stop();
    });
  });
});

async function startCrew(bench: ClientBench, port: number): Promise<Crew> {
  const { target } = await bench.connect(port);
  return Crew.start(bench.semaphore(target, newName(), { limit: 1 }));
}

/** A way to one of two servers, as a sentinel or a load balancer gives it. */
class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;

  static async start(target: number): Promise<Relay> {
    const relay = new Relay(target);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => {
      const onward = connect(this.#target, '127.0.0.1');
      for (const socket of [client, onward]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          client.destroy();
          onward.destroy();
        });
      }
      client.pipe(onward).pipe(client);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  turnTo(target: number): void {
    this.#target = target;
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
