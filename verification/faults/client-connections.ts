interface CommandRunner {
  command(...args: string[]): Promise<unknown>;
}

/** The connections of the tests' clients to some servers, by what these say: not those that ask, nor those of replicas and sentinels. */
export class ClientConnections {
  readonly #servers: readonly CommandRunner[];

  constructor(servers: readonly CommandRunner[]) {
    this.#servers = servers;
  }

  async all(): Promise<string[]> {
    const lines = (await this.#all('CLIENT', 'LIST')).flatMap((list) => list.split('\n'));
    return lines.filter(
      (line) => line !== '' && !/cmd=client\|list|flags=[SM]|name=sentinel-/.test(line),
    );
  }

  async subscribers(): Promise<string[]> {
    return (await this.all()).filter((line) => / sub=[1-9]/.test(line));
  }

  async cutSubscribers(): Promise<void> {
    const ids = (await this.subscribers()).map((line) => /addr=(\S+)/.exec(line)?.[1] ?? '');
    // One that is gone already is not found.
    const kill = (id: string) => this.#all('CLIENT', 'KILL', 'ADDR', id).catch(() => []);
    await Promise.all(ids.map(kill));
  }

  #all(...args: string[]): Promise<string[]> {
    return Promise.all(this.#servers.map(async (server) => String(await server.command(...args))));
  }
}
