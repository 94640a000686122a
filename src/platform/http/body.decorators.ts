import { SetMetadata } from '@nestjs/common';

export const BODY_LIMIT = 'berth:body-limit';
export const STREAM_BODY = 'berth:stream-body';
export const DEFAULT_BODY_LIMIT = 1_048_576;
/** Far more than any request of a client has. */
const DEFAULT_VALUES = 1000;

export interface BodyBounds {
  bytes: number;
  /** Of a JSON body: how many values it may hold, at all depths. What is done with a body takes time for each of them. */
  values: number;
}

export const DEFAULT_BOUNDS: BodyBounds = { bytes: DEFAULT_BODY_LIMIT, values: DEFAULT_VALUES };

/**
 * How many bytes and values the body of a route may have. Without it 1 MiB and a thousand, or as many bytes as come where the
 * handler reads them itself.
 */
export function BodyLimit(bytes: number, values = DEFAULT_VALUES): MethodDecorator {
  return SetMetadata(BODY_LIMIT, { bytes, values } satisfies BodyBounds);
}

/** The handler reads the request itself with `pacedBody`, as it arrives: uploads. The media type is its own to check. */
export function StreamBody(): MethodDecorator {
  return SetMetadata(STREAM_BODY, true);
}
