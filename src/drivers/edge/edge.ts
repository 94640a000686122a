/** How the edge is to speak TLS for sites. */
export interface EdgeSettings {
  host: string;
  httpsPort: number;
  /** Where requests are passed on to, and where it asks whether a host may have a certificate. On loopback. */
  originPort: number;
  /** Where the edge tells what goes wrong, one JSON object a line. On loopback. */
  logPort: number;
  acmeDirectory: string;
  /** Who vouches for the directory itself, where that is nobody the machine knows. */
  acmeCaFile: string | undefined;
  acmeEmail: string | undefined;
  storageDir: string;
}

/** A certificate as a reader of the site gets to see it. */
export interface SeenCertificate {
  issuer: string;
  notAfter: Date;
}

/** A host for which no certificate could be had, and why. */
export interface CertificateFailure {
  host: string;
  reason: string;
}

/**
 * The port to what stands before the sites and speaks TLS. It gets certificates by itself, on the first handshake for a host
 * that may have one.
 */
export abstract class Edge {
  /** Brings its settings in. Idempotent: nothing happens where they are in effect already. `true` when something did. */
  abstract configure(settings: EdgeSettings): Promise<boolean>;
  /**
   * Does what a reader would: a handshake for the host. The certificate, or null where there is none, also when `signal` is
   * aborted; the edge may let a handshake wait for as long as it tries to get one.
   */
  abstract handshake(settings: EdgeSettings, host: string, signal: AbortSignal): Promise<SeenCertificate | null>;
  /** What the certificate authority is called in CAA records; empty where that cannot be told. */
  abstract authorityNames(settings: EdgeSettings): Promise<string[]>;
  /** The failure that a line of its log tells of; null for all other lines. */
  abstract failureIn(line: string): CertificateFailure | null;
  abstract close(): Promise<void>;
}

export class EdgeError extends Error {}
