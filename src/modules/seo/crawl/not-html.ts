/** What was asked for is no page. */
export class NotHtml extends Error {}
