import { readFileSync } from 'node:fs';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { parser } from '@prometheus-io/lezer-promql';
import { expect } from 'chai';
import { parse } from 'yaml';
import { prometheusText } from '../../examples/prometheus-text.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/time/manual-clock.js';
import { telemetry } from '../../src/telemetry.js';
import { OtelFixture } from './otel-fixture.js';

const FOLDER = new URL('../../docs/operations/monitoring/', import.meta.url);
const NAME = 'monitored';

interface Dashboard {
  readonly panels: readonly { title: string; targets: { expr: string; legendFormat: string }[] }[];
  readonly templating: { readonly list: readonly { query: string | { query: string } }[] };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** JSON is YAML, too. */
const read = (file: string): unknown => parse(readFileSync(new URL(file, FOLDER), 'utf8'));
const dashboard = read('grafana-dashboard.json') as Dashboard;
const { groups } = read('prometheus-rules.yml') as { groups: { rules: Rule[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

/** All events of a semaphore, so that every instrument has sent something. */
async function sendEverything(): Promise<void> {
  const clock = new ManualClock();
  const backend = new MemoryBackend({ clock });
  const open = (options = {}): Semaphore =>
    new Semaphore(backend, NAME, { limit: 1, ttl: 1000, ...options });
  const [sem, expiring] = [open(), open({ extendEvery: 0 })];
  const held = await sem.acquire();
  await sem.tryAcquire();
  await sem.acquire({ signal: AbortSignal.abort() }).catch(() => undefined);
  await sem.revoke(held.id);
  const overdue = await expiring.acquire();
  clock.stall(1500);
  await overdue.release();
  telemetry.wait.publish({ name: NAME, id: 'w.1', permits: 1 });
  telemetry.extend.publish({ name: NAME, id: 'w.1', error: new TypeError('LOADING') });
  telemetry.drop.publish({ name: NAME, id: 'w.1' });
  telemetry.mismatch.publish({ name: NAME, limit: 1, otherLimit: 2 });
}

/** The labels of each metric in a text of Prometheus. */
function labelsIn(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^(redsem_\w+)\{(.*)\} \S+$/gm)) {
    const known = found.get(name) ?? new Set();
    found.set(name, known);
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
  }
  return found;
}

const SELECTOR = /(redsem_\w+)(?:\{([^}]*)\})?|\{([^}]*)\}/g;
const GROUPING = /\bby \(([^)]*)\)/g;

/** The metrics that a query selects, and the labels of each selection. */
function selectorsIn(expr: string): { readonly name: RegExp; readonly labels: string[] }[] {
  const query = expr.replaceAll(/\$__(rate_interval|range)/g, '5m');
  // It throws where the language of queries does not allow the next sign.
  parser.configure({ strict: true }).parse(query);
  return [...query.replaceAll(GROUPING, '').matchAll(SELECTOR)].map((found) => {
    const [, name = '', beside, alone = beside ?? ''] = found;
    const matchers = [...alone.matchAll(/(\w+)\s*[=!~]+\s*"([^"]*)"/g)];
    const [, , known = name] = matchers.find(([, label]) => label === '__name__') ?? [];
    const labels = matchers.map(([, label = '']) => label).filter((label) => label !== '__name__');
    return { name: new RegExp(`^(?:${known})$`), labels };
  });
}

/** The labels by which a query groups. */
function groupingsIn(expr: string): string[] {
  return [...expr.matchAll(GROUPING)].flatMap(([, list = '']) => list.split(', '));
}

describe('the dashboard and the alerts', () => {
  /** By the packaged exporter, and by the specification, which gives units to names. */
  let sent: Map<string, Set<string>>[];

  before(async () => {
    const backend = new MemoryBackend({ clock: new ManualClock() });
    const budgets = { tokens: { amount: 100, per: 60_000 } };
    const shared = new Semaphore(backend, 'shared', { limit: 1, budgets });
    const otel = new OtelFixture(NAME, { semaphores: [shared] });
    await sendEverything();
    await shared.acquire({ group: 'a', cost: { tokens: 1 } });
    const resourceMetrics = await otel.resourceMetrics();
    const packaged = new PrometheusSerializer().serialize(resourceMetrics);
    sent = [packaged, prometheusText(resourceMetrics)].map(labelsIn);
  });

  const queries = [
    ...dashboard.panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat: text }) => ({ title, expr, text })),
    ),
    ...alerts.map(({ alert: title, expr, annotations }) => {
      return { title, expr, text: Object.values(annotations).join().replaceAll('$labels.', '') };
    }),
  ];

  it('ask only for metrics and labels that are sent, under the names of both exporters', () => {
    for (const { title, expr, text } of queries) {
      const groupings = groupingsIn(expr);
      for (const metrics of sent) {
        for (const { name, labels } of selectorsIn(expr)) {
          const metric = [...metrics.keys()].find((each) => name.test(each));
          expect(metric, `${title}: ${name}`).to.be.a('string');
          const known = metrics.get(metric ?? '');
          for (const label of labels) expect(known, `${title}: ${metric}`).to.include(label);
        }
        const all = new Set([...metrics.values()].flatMap((labels) => [...labels]));
        for (const label of groupings) expect(all, title).to.include(label);
      }
      const shown = [...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label = '']) => label);
      for (const label of shown) expect(groupings, title).to.include(label);
    }
    const lists = dashboard.templating.list.flatMap(({ query }) =>
      typeof query === 'string' ? [] : [query.query],
    );
    expect(lists).to.deep.equal(['label_values(redsem_permit_count, redsem_semaphore_name)']);
  });

  it('leave out no metric, and have three alerts', () => {
    const names = queries.flatMap(({ expr }) => selectorsIn(expr).map(({ name }) => name));
    for (const metrics of sent) {
      // A histogram also has a sum, and a use for the count of only one of them.
      const asked = [...names, /_(sum|use_time(_seconds)?_count)$/];
      const unused = [...metrics.keys()].filter((one) => !asked.some((name) => name.test(one)));
      expect(unused).to.deep.equal([]);
      expect(metrics.size).to.equal(14 + 2 * 3);
    }
    expect(alerts.map(({ alert }) => alert)).to.have.length(3);
  });
});
