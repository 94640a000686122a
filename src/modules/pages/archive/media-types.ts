import { contentType } from 'mime-types';

const UNKNOWN = 'application/octet-stream';
const TEXTUAL =
  /^(?:text\/|[^;]*[/+](?:json|xml|javascript)\b|application\/(?:manifest|wasm|vnd\.ms-fontobject)|font\/(?:ttf|otf)|image\/(?:svg|bmp|x-icon|vnd\.microsoft\.icon))/;

/** By the extension of the name; texts are UTF-8. */
export function mediaTypeOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return (dot > -1 && contentType(name.slice(dot))) || UNKNOWN;
}

/** Whether it is worth to try to compress it. */
export function isCompressible(mediaType: string): boolean {
  return TEXTUAL.test(mediaType);
}
