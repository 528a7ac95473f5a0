// A typedoc plugin: a page has the title of its first heading, the group of its folder and the
// address of its file. It also makes the site work from a folder, where no server picks index.html
// and a browser takes a `.ts` file for a film.
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Converter, KindRouter, PageEvent, ReflectionKind, RendererEvent } from 'typedoc';
import { sectionOf } from './sections.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER_LINK = /href="(\.\/|(?:\.\.\/)+)(#[^"]*)?"/g;
const SOURCE_LINK = /href="([^":]*media\/[^"]+\.[cm]?ts)"/g;

function pathOf(page) {
  const file = page.project.files.getReflectionPath(page);
  return relative(ROOT, file).replaceAll('\\', '/');
}

function describePage(page) {
  const path = pathOf(page);
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(ROOT, path), 'utf8')) ?? [];
  if (title === undefined) throw new Error(`${path} has no title: a line that starts with "# "`);
  page.name = title.replaceAll('`', '');
  page.frontmatter.group = sectionOf(path);
}

/** An entry point has the name that users import. */
function nameModule(reflection) {
  if (!reflection.kindOf(ReflectionKind.Module)) return;
  reflection.name = reflection.name === 'index' ? 'redsem' : `redsem/${reflection.name}`;
}

/** docs/guides/cron.md is guides/cron.html, so that a new title breaks no link to the site. */
class PagesRouter extends KindRouter {
  getIdealBaseName(reflection) {
    if (!reflection.isDocument()) return super.getIdealBaseName(reflection);
    return pathOf(reflection)
      .replace(/^docs\//, '')
      .replace(/\.md$/, '');
  }
}

function completeLinks(page) {
  page.contents = page.contents
    .replace(FOLDER_LINK, 'href="$1index.html$2"')
    .replace(SOURCE_LINK, 'href="$1.txt"');
}

function showSourcesAsText({ outputDirectory }) {
  const media = join(outputDirectory, 'media');
  const sources = readdirSync(media).filter((file) => /\.[cm]?ts$/.test(file));
  for (const file of sources) renameSync(join(media, file), join(media, `${file}.txt`));
}

export function load(app) {
  app.renderer.defineRouter('pages', PagesRouter);
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, page) => describePage(page));
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_, reflection) => nameModule(reflection));
  app.renderer.on(PageEvent.END, completeLinks);
  app.renderer.on(RendererEvent.END, showSourcesAsText, -100);
}
