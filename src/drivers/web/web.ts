/** Why a page could not be had. The words are told to whoever asked; none says what stands behind a refused address. */
export type WebFault =
  | 'scheme_refused'
  | 'credentials_refused'
  | 'port_refused'
  | 'address_too_long'
  | 'address_refused'
  | 'dns_failed'
  | 'connect_failed'
  | 'tls_error'
  | 'timeout'
  | 'bad_response'
  | 'too_many_redirects';

export class WebError extends Error {
  constructor(
    readonly code: WebFault,
    cause?: unknown,
  ) {
    super(code, { cause });
  }
}

/** Where a host is reached that is the platform's own: the guard is not asked about it. */
export interface Edge {
  host: string;
  address: string;
  httpPort: number;
  httpsPort: number;
  /** Who vouches for its certificates, besides those that everybody believes. */
  ca?: string;
}

export interface WebRequest {
  method?: 'GET' | 'HEAD';
  /** Bytes as they are sent; what comes after them is left. */
  maxBytes: number;
  /** Bytes once decoded; what comes after them is left. */
  maxDecodedBytes: number;
  /** Whether the body of an answer with this media type is wanted at all. */
  wants?: (mediaType: string) => boolean;
  /** Whether a redirect to there is followed; otherwise the redirect itself is the answer. */
  follows: (to: URL) => boolean;
  signal: AbortSignal;
}

export interface Hop {
  url: string;
  status: number;
}

export interface WebAnswer {
  /** Where it came from in the end. */
  url: string;
  status: number;
  /** Names in lower case, in their order; one entry for each time that a header was sent. */
  headers: [name: string, value: string][];
  /** Decoded. Empty where it is not wanted. */
  body: Buffer;
  /** As they were sent. */
  bytes: number;
  /** Whether there was more of it. */
  truncated: boolean;
  /** From the request to the first byte of its answer. */
  firstByteMs: number;
  ms: number;
  /** What led there. */
  hops: Hop[];
}

/** What a session asks for goes to the public web and nowhere else. Its connections are closed with it. */
export abstract class WebSession {
  /** Throws {@link WebError}. */
  abstract fetch(url: URL, request: WebRequest): Promise<WebAnswer>;
  abstract close(): Promise<void>;
}

/** The web, as it is asked for other people. */
export abstract class Web {
  abstract open(edges?: readonly Edge[]): WebSession;
}
