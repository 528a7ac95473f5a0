// The site's options. Pages are found by glob: a new file in docs/ needs no line here.
import { readFileSync } from 'node:fs';
import { SECTIONS } from './sections.mjs';

const { exports, repository } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

/** `./dist/otel/index.js`, an entry of the package, is made from `../src/otel/index.ts`. */
const entryPoints = Object.values(exports)
  .filter((entry) => typeof entry === 'object')
  .map((entry) => entry.default.default.replace('./dist/', '../src/').replace(/\.js$/, '.ts'));

/**
 * Where the sources are; until package.json has `repository`, the reference names no source lines.
 */
const sources = repository?.url.replace(/^git\+|\.git$/g, '');

export default {
  name: 'redsem',
  entryPoints,
  tsconfig: '../tsconfig.build.json',
  out: 'html',
  basePath: '../src',
  readme: '../README.md',
  projectDocuments: [
    '../docs/**/*.md',
    '../{examples,benchmarks,verification/formal}/README.md',
    '../{CONTRIBUTING,SECURITY,CHANGELOG}.md',
  ],
  exclude: ['**/node_modules/**'],
  plugin: ['./pages.mjs', './diagrams.mjs'],
  router: 'pages',
  customCss: 'site.css',
  navigation: { includeGroups: true, includeCategories: false, includeFolders: false },
  groupOrder: [...SECTIONS.map(({ title }) => title), '*'],
  highlightLanguages: ['ts', 'js', 'json', 'yaml', 'sh', 'lua', 'sql', 'docker'],
  ignoredHighlightLanguages: ['text', 'promql', 'walk', 'crontab'],
  searchInComments: true,
  searchInDocuments: true,
  includeVersion: true,
  hideGenerator: true,
  includeHierarchySummary: false,
  disableGit: true,
  disableSources: sources === undefined,
  sourceLinkTemplate: `${sources}/blob/main/src/{path}#L{line}`,
  excludePrivate: true,
  excludeInternal: true,
  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, invalidPath: true, notDocumented: true },
  // Their documentation is that of `Handle` and `Semaphore`.
  intentionallyNotDocumented: [
    ...['name', 'signal', 'id', 'slots', 'slot', 'fencingToken', 'held', 'expiresIn'].map(
      (field) => `redsem.HandleLike.${field}`,
    ),
    'redsem.SemaphoreLike.limit',
  ],
  requiredToBeDocumented: [
    'Class',
    'Interface',
    'TypeAlias',
    'Function',
    'Variable',
    'Property',
    'Method',
    'Accessor',
  ],
  intentionallyNotExported: [
    'About',
    'NodeRedisClient',
    'IoredisClient',
    'Inspected', // the name and `inspect` of a semaphore
    'LeaseKeeper', // of a method that semaphores call
    'Keep',
    'KeptSemaphore',
  ],
};
