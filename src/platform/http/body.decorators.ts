import { SetMetadata } from '@nestjs/common';

export const BODY_LIMIT = 'berth:body-limit';
export const STREAM_BODY = 'berth:stream-body';
export const DEFAULT_BODY_LIMIT = 1_048_576;

/** How many bytes the body of a route may have; 1 MiB without it. */
export function BodyLimit(bytes: number): MethodDecorator {
  return SetMetadata(BODY_LIMIT, bytes);
}

/** The handler reads the request itself, as it arrives: uploads. Media type and size are its own to check. */
export function StreamBody(): MethodDecorator {
  return SetMetadata(STREAM_BODY, true);
}
