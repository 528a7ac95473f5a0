import type { Backend } from '../../../src/index.js';
import { QuorumBackend } from '../../../src/backends/quorum/quorum-backend.js';
import type { QuorumSettings } from '../../../src/backends/quorum/quorum.js';
import type { HistoryEvent } from '../../history/events.js';
import { History } from '../history.js';
import { streamOf } from '../random.js';
import type { Settings } from '../settings.js';
import { sumOf } from '../sum-of.js';
import { Crew, type Mailbox } from '../workload/crew.js';
import { HandleWatch } from '../workload/handle-watch.js';
import { drawWorkload, type Workload } from '../workload/workload.js';
import { ServerClock } from './clocks.js';
import type { Gate } from './gate.js';
import { Link, remoteBackend } from './link.js';
import { NodeGate, remoteNode } from './node-gate.js';
import { KeeperThread } from './keeper-thread.js';
import { CLOCKS_OFF, listsAt, nodesIn, restartsOf } from './move.js';
import { SimulatedProcess } from './process.js';
import { Scheduler } from './scheduler.js';
import { type OpenStore, SimulatedServer } from './server.js';

/** One life of one of the simulated processes. */
export interface Incarnation {
  readonly process: SimulatedProcess;
  readonly links: readonly Link[];
  readonly crew: Crew;
  readonly keeper: KeeperThread | undefined;
}

/** Clocks run apart by at most 1 %: each by at most this share from true time. */
const DRIFT = 0.0045;

/** The world of one seed: processes, their work, the network, and the servers. */
export class World {
  readonly scheduler = new Scheduler();
  readonly history: History;
  readonly settings: Settings;
  readonly workload: Workload;
  readonly watch: HandleWatch;
  readonly #mailbox: Mailbox = { tickets: [], seen: [] };
  readonly #gates: Gate[];
  /** By their numbers. */
  readonly #incarnations = new Map<number, Incarnation>();
  /** How many faults keep which server down. */
  readonly #downs = new Map<number, number>();
  readonly #lives: number[] = [];
  #stopping = false;

  constructor(
    settings: Settings,
    read: (event: HistoryEvent) => void,
    openStore: OpenStore | undefined,
  ) {
    this.history = new History(this.scheduler, read);
    this.settings = settings;
    this.workload = drawWorkload(settings);
    const { seed, nodes } = settings;
    this.history.record('world', { type: 'run', seed, nodes, semaphores: this.#everyName() });
    this.watch = new HandleWatch(this.history, 0.001);
    this.#gates = Array.from({ length: nodesIn(settings) }, (_, i) => this.#makeGate(i, openStore));
    for (let slot = 0; slot < settings.processes; slot += 1) {
      this.start(slot);
      for (const at of restartsOf(settings, slot)) {
        this.scheduler.at(at, () => this.#restart(slot));
      }
    }
  }

  incarnation(slot: number): Incarnation {
    const incarnation = this.#incarnations.get(slot);
    if (incarnation === undefined) throw new Error(`no process ${slot}`);
    return incarnation;
  }

  gate(index: number): Gate {
    const gate = this.#gates[index];
    if (gate === undefined) throw new Error(`no server ${index}`);
    return gate;
  }

  /** A new process starts in the place of one that was killed. */
  start(slot: number): void {
    if (this.#incarnations.get(slot)?.process.alive === true) return;
    const life = (this.#lives[slot] ?? 0) + 1;
    this.#lives[slot] = life;
    const name = life === 1 ? `p${slot}` : `p${slot}.${life}`;
    const random = streamOf(this.settings.seed, 'process', name);
    const rate = 1 + random.real(-DRIFT, DRIFT);
    const process = new SimulatedProcess(name, this.scheduler, rate, random);
    const resends = random.chance(0.5);
    const links = this.#gates.map((gate, i) => {
      const network = streamOf(this.settings.seed, 'network', name, i);
      return new Link(process, gate, network, resends);
    });
    process.onKilled.push(() => links.forEach((link) => link.abandon()));
    const { history, workload, watch } = this;
    history.record(name, { type: 'started', rate });
    const { seed } = this.settings;
    const backend = this.#backendOver(links, process);
    const keeper = this.#keeperOf(process);
    const mailbox = this.#mailbox;
    const shared = { workload, history, watch, seed, mailbox };
    const crew = new Crew({ process, backend, keeper, ...shared });
    this.#incarnations.set(slot, { process, links, crew, keeper });
    if (this.#stopping) crew.stop();
    process.runAt(this.scheduler.now, () => void crew.start());
  }

  stall({ process }: Incarnation, duration: number): void {
    const from = this.scheduler.now;
    const until = from + duration;
    process.stalledUntil = Math.max(process.stalledUntil, until);
    this.history.record(process.name, { type: 'stall', from, until });
  }

  kill(slot: number): void {
    const { process } = this.incarnation(slot);
    process.kill();
    this.watch.forget(process);
  }

  /** As a deployment does. */
  #restart(slot: number): void {
    const { process } = this.incarnation(slot);
    if (!process.alive) return;
    for (const phase of ['begin', 'end'] as const) {
      const what = { type: 'fault', fault: -1, kind: 'kill-process' } as const;
      this.history.record('world', { ...what, phase, targets: [process.name] });
    }
    this.kill(slot);
    this.start(slot);
  }

  takeDown(index: number, kind: string, force: number): void {
    const gate = this.gate(index);
    this.#downs.set(index, (this.#downs.get(index) ?? 0) + 1);
    gate.up = false;
    gate.disconnectAll();
    for (const { links, keeper } of this.#incarnations.values()) {
      keeper?.link.cut(0);
      links[index]?.cut(0);
      links[index]?.cutSubscribers(0, false);
    }
    if (kind === 'restart-empty') gate.loseData();
    if (kind === 'restart-old') gate.goBack(50 + 3000 * force * force);
  }

  /** Each fault that keeps the server down must have ended. */
  bringUp(index: number): void {
    const downs = (this.#downs.get(index) ?? 0) - 1;
    this.#downs.set(index, downs);
    if (downs === 0) this.gate(index).up = true;
  }

  /** The semaphore that a fault strikes. */
  nameAt(force: number): string {
    const names = this.#everyName();
    return names[Math.floor(force * names.length)]?.name ?? '';
  }

  /** Callers begin no further call, and give back their permits. */
  stop(): void {
    this.#stopping = true;
    for (const { process, crew } of this.#incarnations.values()) {
      process.runAt(this.scheduler.now, () => crew.stop());
    }
  }

  close(): void {
    for (const { process, crew } of this.#incarnations.values()) {
      process.runAt(this.scheduler.now, () => void crew.close());
    }
  }

  /** Called when a step has come to rest. */
  observe(): void {
    for (const process of SimulatedProcess.touched) this.watch.read(process);
    SimulatedProcess.touched.clear();
  }

  async recordEnd(): Promise<void> {
    const left = await Promise.all(this.#gates.map((gate) => gate.remains(this.#everyName())));
    const alive = [...this.#incarnations.values()].filter(({ process }) => process.alive);
    this.history.record('world', {
      type: 'final',
      held: sumOf(left.map(({ held }) => held)),
      waiting: sumOf(left.map(({ waiting }) => waiting)),
      timers: sumOf(
        alive.flatMap(({ process, keeper }) => [process.clock.timers, keeper?.timers ?? 0]),
      ),
      subscriptions: sumOf(alive.flatMap(({ links }) => links.map((link) => link.subscriptions))),
      unsettled: sumOf(alive.map(({ crew }) => crew.unsettled)),
    });
  }

  #everyName() {
    const { semaphores, keys, keyedTtl } = this.workload;
    const keyed = keys.map((key) => ({ name: `keyed:default:${key}`, limit: 1, ttl: keyedTtl }));
    return [...semaphores, ...keyed];
  }

  #makeGate(index: number, openStore: OpenStore | undefined): Gate {
    const { scheduler, history, settings } = this;
    const random = streamOf(settings.seed, 'server', index);
    const clock = new ServerClock(scheduler, 1 + random.real(-DRIFT, DRIFT));
    if (settings.moved === true) clock.step(random.real(-CLOCKS_OFF, CLOCKS_OFF));
    if (settings.nodes > 1) return new NodeGate(scheduler, clock);
    return new SimulatedServer(clock, history, scheduler, openStore);
  }

  #keeperOf(process: SimulatedProcess): KeeperThread | undefined {
    const random = streamOf(this.settings.seed, 'keeper', process.name);
    if (this.settings.keeper !== true || random.chance(0.5)) return undefined;
    return new KeeperThread(process, this.gate(0), random, random.real(300, 30_000));
  }

  #backendOver(links: readonly Link[], { clock }: SimulatedProcess): Backend {
    const [only] = links;
    if (links.length === 1 && only !== undefined) return remoteBackend(only);
    const lists = listsAt(this.scheduler.now, this.settings);
    const used = [...new Set(lists.flat())];
    const nodes = links.flatMap((link, i) => (used.includes(i) ? remoteNode(link) : []));
    return new QuorumBackend(nodes, clock, this.settings.moved === true ? named(lists) : {});
  }
}

/** The names of the nodes, and the lists that they make. */
function named(lists: readonly (readonly number[])[]): QuorumSettings {
  const used = [...new Set(lists.flat())].toSorted((a, b) => a - b);
  return {
    names: used.map((node) => `node-${node}`),
    lists: lists.map((list) => list.map((node) => used.indexOf(node))),
  };
}
