/** The package brings no types; what is used of it is small. */
declare module 'oidc-provider';
