// Refuses a built site with a link to a page, picture or heading that is not there. Other sites are
// not asked.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const SITE = fileURLToPath(new URL('../site/html', import.meta.url));
const decode = (text) => decodeURIComponent(text.replaceAll('&amp;', '&'));

const pages = new Map(
  readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html'))
    .map((file) => [join(SITE, file), readFileSync(join(SITE, file), 'utf8')]),
);
const anchors = new Map(
  [...pages].map(([file, html]) => [
    file,
    new Set([...html.matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id]) => decode(id))),
  ]),
);

function problemOf(page, link) {
  const [path, anchor = ''] = link.split('#');
  const target = path === '' ? page : resolve(dirname(page), decode(path));
  if (!existsSync(target) || statSync(target).isDirectory()) return 'no such file';
  if (anchor !== '' && anchors.get(target)?.has(decode(anchor)) === false) return 'no such heading';
  return undefined;
}

const links = [...pages].flatMap(([page, html]) =>
  [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, link]) => ({ page, link })),
);
const local = links.filter(({ link }) => !/^(?:[a-z]+:|\/\/)/i.test(link));
const broken = local.flatMap(({ page, link }) => {
  const problem = problemOf(page, link);
  return problem === undefined ? [] : [`${page.slice(SITE.length + 1)}: ${link}: ${problem}`];
});
for (const line of new Set(broken)) console.error(line);
console.log(`${pages.size} pages, ${local.length} links, ${broken.length} broken`);
if (pages.size === 0 || broken.length > 0) process.exitCode = 1;
