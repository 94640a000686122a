import {
  defaultTreeAdapter,
  html as vocabulary,
  parse,
  type DefaultTreeAdapterMap,
  type DefaultTreeAdapterTypes as Tree,
  type TreeAdapter,
} from 'parse5';
import { truncate } from '../../../platform/text/truncate.js';

/** An element of a page, with what holds around it. */
export interface Element {
  tag: string;
  attributes: Map<string, string>;
  parent: Element | null;
  inHead: boolean;
  /** Whether it stands within a link; a link that does is none that HTML allows. */
  inLink: boolean;
  isSvg: boolean;
  /** By its attributes or those of what is around it; style sheets are not looked at. */
  isHidden: boolean;
  /** The nearest `lang`. */
  lang: string | null;
  node: Tree.Element;
}

const NO_TEXT = new Set(['script', 'style', 'template', 'noscript', 'head', 'title']);
const SNIPPET = 200;
/** The largest pages of the web have a tenth of it. */
const MOST_PARTS = 200_000;

/**
 * A page as parsed by the rules of HTML. Gone through once and without recursion, so that no depth of nesting is too much;
 * what is looked for is found in the list of elements.
 */
export class Html {
  readonly elements: Element[] = [];
  private readonly byTag = new Map<string, Element[]>();
  private named: ReadonlySet<string> | undefined;

  constructor(source: string) {
    const document = parse(source, { treeAdapter: countingAdapter() });
    const stack: [Tree.ChildNode, Element | null][] = [];
    pushChildren(stack, document, null);
    while (stack.length > 0) {
      const [node, parent] = stack.pop()!;
      if (!isElement(node)) continue;
      const element = elementOf(node, parent);
      this.elements.push(element);
      const others = this.byTag.get(element.tag);
      if (others) others.push(element);
      else this.byTag.set(element.tag, [element]);
      pushChildren(stack, node, element);
    }
  }

  /** In the order of the document. */
  all(tag: string): readonly Element[] {
    return this.byTag.get(tag) ?? [];
  }

  first(tag: string): Element | undefined {
    return this.all(tag)[0];
  }

  /** The ids of elements that have visible text. Whatever is asked of it, all elements are gone through once. */
  get idsWithText(): ReadonlySet<string> {
    return (this.named ??= idsWithText(this.elements));
  }
}

export function attribute(element: Element, name: string): string | undefined {
  return element.attributes.get(name);
}

/** Visible text, with white space as a browser shows it; `limit` characters at most. */
export function textOf(element: Element, limit = 10_000): string {
  const parts: string[] = [];
  let length = 0;
  const stack: Tree.ChildNode[] = [...element.node.childNodes].reverse();
  while (stack.length > 0 && length < limit) {
    const node = stack.pop()!;
    if (node.nodeName === '#text') {
      const { value } = node as Tree.TextNode;
      parts.push(value);
      length += value.length;
    } else if (isElement(node) && !NO_TEXT.has(node.tagName) && !hides(attributesOf(node))) {
      if (node.tagName === 'br') parts.push(' ');
      for (let i = node.childNodes.length - 1; i >= 0; i--) stack.push(node.childNodes[i]!);
    }
  }
  return truncate(parts.join('').replace(/\s+/g, ' ').trim(), limit);
}

/** Its raw text: of a script, a title. */
export function contentOf(element: Element): string {
  return element.node.childNodes
    .map((node) => (node.nodeName === '#text' ? (node as Tree.TextNode).value : ''))
    .join('');
}

/** Its start tag, to be shown. */
export function snippet({ tag, attributes }: Element): string {
  const parts = [...attributes].map(([name, value]) => ` ${name}="${value}"`);
  return cut(`<${tag}${parts.join('')}>`);
}

export function cut(text: string, length = SNIPPET): string {
  const whole = text.toWellFormed().replace(/[\u0000-\u001f\u007f]+/g, ' ');
  return whole.length > length ? `${truncate(whole, length - 1)}…` : whole;
}

function idsWithText(elements: readonly Element[]): Set<string> {
  const ids = new Set<string>();
  const withText = new Set<Element>();
  // Children come after their parents.
  for (const element of [...elements].reverse()) {
    const { tag, attributes, parent } = element;
    if (!withText.has(element) && contentOf(element).trim() === '') continue;
    ids.add(attributes.get('id') ?? '');
    if (parent && !NO_TEXT.has(tag) && !hides(attributes)) withText.add(parent);
  }
  return ids;
}

function elementOf(node: Tree.Element, parent: Element | null): Element {
  const attributes = attributesOf(node);
  return {
    tag: node.tagName,
    attributes,
    parent,
    inHead: node.tagName === 'head' || (parent?.inHead ?? false),
    inLink: parent !== null && (parent.inLink || parent.tag === 'a'),
    isSvg: node.namespaceURI === vocabulary.NS.SVG,
    isHidden: (parent?.isHidden ?? false) || hides(attributes),
    lang: attributes.get('lang') ?? parent?.lang ?? null,
    node,
  };
}

function attributesOf(node: Tree.Element): Map<string, string> {
  return new Map(node.attrs.map(({ name, prefix, value }) => [prefix ? `${prefix}:${name}` : name, value]));
}

function hides(attributes: Map<string, string>): boolean {
  if (attributes.has('hidden') || attributes.get('aria-hidden') === 'true') return true;
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(attributes.get('style') ?? '');
}

/**
 * Counts what a page is made of while it is made: some pages of a few kilobytes come to millions of elements, and a thread that
 * runs out of memory may take the process with it.
 */
function countingAdapter(): TreeAdapter<DefaultTreeAdapterMap> {
  let parts = 0;
  const count = (more: number): void => {
    parts += more;
    if (parts > MOST_PARTS) throw new Error(`the page has more than ${MOST_PARTS} elements, attributes and comments`);
  };
  return {
    ...defaultTreeAdapter,
    createElement: (tag, namespace, attributes) => {
      count(1 + attributes.length);
      return defaultTreeAdapter.createElement(tag, namespace, attributes);
    },
    createCommentNode: (data) => {
      count(1);
      return defaultTreeAdapter.createCommentNode(data);
    },
  };
}

/** The first one on top. */
function pushChildren(
  stack: [Tree.ChildNode, Element | null][],
  { childNodes }: { childNodes: Tree.ChildNode[] },
  parent: Element | null,
): void {
  for (let i = childNodes.length - 1; i >= 0; i--) stack.push([childNodes[i]!, parent]);
}

function isElement(node: Tree.ChildNode): node is Tree.Element {
  return 'tagName' in node;
}
