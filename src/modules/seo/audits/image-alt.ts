import { MOST_FINDINGS, type Audit } from './audit.js';
import { attribute, snippet, type Element, type Html } from './html.js';

/** Roles that a screen reader has to have a name for; an image in another role needs none. */
const NAMED_ROLES = new Set([
  ...['alertdialog', 'button', 'checkbox', 'combobox', 'dialog', 'heading', 'img', 'image', 'link', 'listbox'],
  ...['menuitem', 'menuitemcheckbox', 'menuitemradio', 'meter', 'option', 'progressbar', 'radio', 'radiogroup'],
  ...['searchbox', 'slider', 'spinbutton', 'switch', 'tab', 'tabpanel', 'textbox', 'tooltip', 'tree', 'treegrid'],
  ...['treeitem', 'none', 'presentation'],
]);

/** As axe-core's rule of the same id, which Lighthouse runs. */
export const imageAlt: Audit = {
  id: 'image-alt',
  weight: 1,
  title: 'Images have a text in their place',
  judge({ html }) {
    const images = html.all('img').filter((image) => !image.isHidden && needsName(image));
    if (images.length === 0) return 'not_applicable';
    return images
      .filter((image) => !isNamed(html, image))
      .slice(0, MOST_FINDINGS)
      .map((image) => ({
        element: snippet(image),
        reason: 'The image has no text that could stand in its place.',
        fix: 'Describe the image in its alt attribute, or leave that empty when it is but decoration.',
      }));
  },
};

function needsName(image: Element): boolean {
  const role = (attribute(image, 'role') ?? '').trim().toLowerCase().split(/\s+/)[0]!;
  return role === '' || NAMED_ROLES.has(role) || image.attributes.has('tabindex');
}

function isNamed(html: Html, image: Element): boolean {
  const alt = attribute(image, 'alt');
  if (alt !== undefined && (alt === '' || alt.trim() !== '')) return true;
  // Blanks are no text, whatever else there is.
  if (alt !== undefined) return false;
  const role = (attribute(image, 'role') ?? '').trim();
  if (role === 'none' || role === 'presentation') return true;
  if ((attribute(image, 'aria-label') ?? '').trim() !== '' || (attribute(image, 'title') ?? '').trim() !== '')
    return true;
  const ids = (attribute(image, 'aria-labelledby') ?? '').split(/\s+/).filter((id) => id !== '');
  return ids.some((id) => html.idsWithText.has(id));
}
