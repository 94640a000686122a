/*
 * What nodes tell the control plane and what it answers. The nodes' side is `internal-api.client.ts`, the control plane's
 * the controllers under `/internal`.
 */

/** Release of the node's side; the first with the secrets broker is 2.33.0. */
export const AGENT_VERSION = '2.33.0';

export interface ReportedInstance {
  name: string;
  running: boolean;
  /** The engine or its machine seems to have gone down with it, and leaves it so: it has not ended by itself. */
  interrupted?: boolean;
  /** That is sure, and the node's packet filter stands: it may be started. */
  mayResume?: boolean;
}

export interface NodeReport {
  agentVersion: string;
  instances: ReportedInstance[];
  /** Where clients reach this node's consoles. */
  consoleUrl: string;
}

export interface NodeReportAnswer {
  /** Instances that should run and do not: the node is asked how they ended. */
  howEnded: string[];
  /** Key of the tokens for consoles on this node, base64url. */
  consoleKey: string;
}

export interface FirewallRule {
  ip: string;
  port: number;
  protocol: 'tcp' | 'udp';
  /** Whether connections are let through. */
  active: boolean;
  /** New connections a second from one address; 0 for no limit. */
  rateLimit: number;
}

/** What services reach though it may stand on a private address. */
export interface DatabaseAddress {
  /** An address, or a name, which the node resolves. */
  host: string;
  port: number;
}

/** Both are null when they are those the node has already. Nodes and their control plane may be of different releases. */
export interface FirewallAnswer {
  version: string;
  rules: FirewallRule[] | null;
  databases?: DatabaseAddress[] | null;
}

export interface SftpLogin {
  username: string;
  password: string;
  /** Where the client connects from. */
  address: string;
}

export interface SftpLoginAnswer {
  serverId: string;
  accountId: string;
  /** Image to make a workshop from. */
  image: string;
  /** Which of the service's passwords it was. */
  credentialVersion: number;
}

/** Somebody who watches a console or works on files, for as long as the control plane lets them. */
export interface LiveSession {
  id: string;
  kind: 'console' | 'sftp';
  serverId: string;
  accountId: string;
  /** The API key it was made with, if it was one. */
  keyId: string | null;
  /** Generation of the account's browser sessions, where it was made by one. */
  sessionGeneration?: number;
  /** Which of the service's passwords it was made with: SFTP. */
  credentialVersion?: number;
  issuedAt: string;
}

export interface SessionsAnswer {
  close: { id: string; reason: string }[];
  /** How the services concerned stand; `ram` in MB. */
  servers: { id: string; status: string; ram: number }[];
}

/** A power signal that somebody gave on a console. */
export interface NodePower {
  signal: 'start' | 'stop' | 'restart' | 'kill';
  accountId: string;
  ip: string;
  actor: { type: 'key' | 'session'; id: string | null };
  sessionGeneration?: number;
}

/** Something done to a service by way of its node. */
export interface NodeActivity {
  event: string;
  properties: Record<string, unknown>;
  ip: string | null;
  actor: { type: 'key' | 'session' | 'system' | 'sftp'; id: string | null };
}

export interface InstanceStoppedAnswer {
  /** Whether that was not asked for, so that the node tells how it ended. */
  howEnded: boolean;
}

export interface InstanceEnd {
  /** Null when the container was ended from outside, so that nothing was written down. */
  exit: { code: number; signal: string | null; outOfMemory: boolean } | null;
  /** The newest lines on its console, where it did not end well. */
  output: string[] | null;
  /** What it consumed when it was last looked at. */
  usage: { at: string; memoryBytes: number; cpuPercent: number | null } | null;
}
