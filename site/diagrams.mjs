// A typedoc plugin: draws the Mermaid diagrams of the pages while the site is built. A reader's
// browser runs no script and asks no server for them, and they follow the theme's colors.
import { renderMermaidSVG } from 'beautiful-mermaid';
import { MarkdownEvent } from 'typedoc';

const DIAGRAM = /^```mermaid\n([\s\S]*?)^```$/gm;
const COLORS = {
  bg: 'var(--color-background)',
  fg: 'var(--color-text)',
  muted: 'var(--color-text)',
  transparent: true,
  font: 'system-ui',
};
/** Of a web font; and blank lines, which would end the HTML of a Markdown page. */
const UNWANTED = /^\s*@import url\(.*\n|^\s*\n/gm;

function draw(_, source) {
  return `<div class="diagram">\n${renderMermaidSVG(source, COLORS).replace(UNWANTED, '')}\n</div>`;
}

export function load(app) {
  // Before typedoc makes HTML of the page.
  app.renderer.on(
    MarkdownEvent.PARSE,
    (event) => (event.parsedText = event.parsedText.replace(DIAGRAM, draw)),
    100,
  );
}
