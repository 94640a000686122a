import type { Audit } from './audit.js';
import { contentOf, snippet } from './html.js';

export const documentTitle: Audit = {
  id: 'document-title',
  weight: 1,
  title: 'The page has a title',
  judge({ html }) {
    const title = html.all('title').find(({ isSvg }) => !isSvg);
    if (title && contentOf(title).trim() !== '') return [];
    return [
      {
        element: title ? snippet(title) : '<head>',
        reason: title ? 'The title is empty.' : 'The page has no title.',
        fix: 'Put a title element that names the content of the page into its head.',
      },
    ];
  },
};

export const metaDescription: Audit = {
  id: 'meta-description',
  weight: 1,
  title: 'The page has a description',
  judge(page) {
    const element = page.metaElement('description');
    if (page.meta('description')?.trim()) return [];
    return [
      {
        element: element ? snippet(element) : '<head>',
        reason: element ? 'The description is empty.' : 'The page has no description.',
        fix: 'Put a meta element named description that sums up the page into its head.',
      },
    ];
  },
};

export const httpStatusCode: Audit = {
  id: 'http-status-code',
  weight: 1,
  title: 'The page answers with success',
  judge({ fetched: { status } }) {
    if (status < 400 || status > 599) return [];
    return [
      {
        element: `HTTP status ${status}`,
        reason: `The page answers with status ${status}, so it is not indexed.`,
        fix: 'Make the page answer with 200, or take the links to it away.',
      },
    ];
  },
};

/** Lighthouse leaves it to people; it counts for nothing. */
export const structuredData: Audit = {
  id: 'structured-data',
  weight: 0,
  title: 'Structured data is valid (to be looked at by hand)',
  judge: () => 'not_applicable',
};
