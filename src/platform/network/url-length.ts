/**
 * Characters of an address as it is sent. What a page of somebody else's names beyond it is left aside where it is found, so that
 * whatever is done with an address is bounded by this. Browsers and search engines draw the line about there.
 */
export const MAX_URL_LENGTH = 2048;
