import { Injectable, type LoggerService } from '@nestjs/common';
import { pino, type Bindings, type DestinationStream, type Level, type Logger, type LoggerOptions } from 'pino';
import { requestId } from './request-context.js';

/** Names whose values never reach a log, at the top of a record or one or two levels inside. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  '"set-cookie"',
  'password',
  'secret',
  'token',
  'apiKey',
  'hashedKey',
  'clientSecret',
  'masterKey',
  'privateKey',
  'sshKey',
  'value',
  'credentials',
];

const REDACTED_PATHS = SECRET_NAMES.flatMap((name) => {
  const inner = name.startsWith('"') ? `[${name}]` : `.${name}`;
  return [name.startsWith('"') ? `[${name}]` : name, `*${inner}`, `*.*${inner}`];
});

export interface LogSettings {
  logLevel: string;
}

/**
 * Log of the process: JSON lines on standard output. Lines are gathered and written within half a second, at once from
 * `error` up and when the process ends.
 */
@Injectable()
export class AppLogger {
  constructor(
    private readonly pino: Logger,
    private readonly plain: Logger,
  ) {}

  /** A logger whose lines all carry the bindings, such as the part of the system that speaks. */
  child(bindings: Bindings): AppLogger {
    return new AppLogger(this.pino.child(bindings), this.plain.child(bindings));
  }

  /**
   * A line at `info` that is written as it is: nothing is searched for secrets and no request id is added. For lines of fixed
   * fields that are written for every request, where the search would cost more than all the rest.
   */
  fixed(fields: object, message: string): void {
    this.plain.info(fields, message);
  }

  trace(fields: object | string, message?: string): void {
    this.write('trace', fields, message);
  }

  debug(fields: object | string, message?: string): void {
    this.write('debug', fields, message);
  }

  info(fields: object | string, message?: string): void {
    this.write('info', fields, message);
  }

  warn(fields: object | string, message?: string): void {
    this.write('warn', fields, message);
  }

  error(fields: object | string, message?: string): void {
    this.write('error', fields, message);
    this.flush();
  }

  fatal(fields: object | string, message?: string): void {
    this.write('fatal', fields, message);
    this.flush();
  }

  isEnabled(level: Level): boolean {
    return this.pino.isLevelEnabled(level);
  }

  flush(): void {
    this.pino.flush();
  }

  private write(level: Level, fields: object | string, message?: string): void {
    if (typeof fields === 'string') this.pino[level](fields);
    else this.pino[level](fields, message);
  }
}

/** The process's logger; `destination` is standard output unless a caller has another place for the lines. */
export function createLogger(settings: LogSettings, destination: DestinationStream = standardOutput()): AppLogger {
  const common: LoggerOptions = {
    level: settings.logLevel,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: toldOf, error: toldOf },
  };
  const careful: LoggerOptions = {
    ...common,
    redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
    mixin: () => {
      const id = requestId();
      return id ? { requestId: id } : {};
    },
  };
  return new AppLogger(pino(careful, destination), pino(common, destination));
}

/** What is told of an error. Its other fields may hold statements, and with them what an account wanted to store. */
function toldOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code } = error as { code?: unknown };
  return { type, message, stack, code, errors: error instanceof AggregateError ? error.errors.map(String) : undefined };
}

function standardOutput(): DestinationStream {
  return pino.destination({ fd: 1, sync: false, minLength: 8192, periodicFlush: 500 });
}

/** Lets Nest's own messages run through the process's logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: AppLogger) {}

  log(message: unknown, ...rest: unknown[]): void {
    // Nest's route list at start is noise for operators.
    this.logger.debug(...line(message, rest));
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.logger.debug(...line(message, rest));
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.logger.trace(...line(message, rest));
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn(...line(message, rest));
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.logger.error(...line(message, rest));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.logger.fatal(...line(message, rest));
  }
}

/** Nest passes further messages, a stack for errors, and the context last. */
function line(message: unknown, rest: unknown[]): [object, string] {
  const part = rest.length > 0 && typeof rest.at(-1) === 'string' ? (rest.at(-1) as string) : undefined;
  const stack = rest.find((item) => typeof item === 'string' && item.includes('\n    at '));
  const fields = { ...(part && part !== stack ? { part } : {}), ...(stack ? { stack } : {}) };
  if (message instanceof Error) return [{ ...fields, err: message }, message.message];
  return [fields, typeof message === 'string' ? message : JSON.stringify(message)];
}
