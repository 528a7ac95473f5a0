/** Attributes and children of a new element. Text is always a text node, never markup. */
export interface Content {
  readonly class?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children?: readonly Node[];
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  content: Content = {},
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (content.class !== undefined) made.className = content.class;
  if (content.text !== undefined) made.textContent = content.text;
  for (const [name, value] of Object.entries(content.attributes ?? {})) {
    made.setAttribute(name, value);
  }
  made.append(...(content.children ?? []));
  return made;
}

/** An element of index.html. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no #${id}`);
  return found;
}

/** Touches the page only where the text differs: an unchanged number costs no layout. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

export function setAttribute(target: Element, name: string, value: string): void {
  if (target.getAttribute(name) !== value) target.setAttribute(name, value);
}

/** A custom property that style.css reads. */
export function setProperty(target: HTMLElement, name: string, value: string): void {
  if (target.style.getPropertyValue(name) !== value) target.style.setProperty(name, value);
}
