import { EngineError } from './engine.js';

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Names that an adapter itself gives to the image's entry. */
const RESERVED = /^BERTH_(HEX_.*|RESOLVER)$/;

/** What every adapter holds a program's environment to; a value never stands in the error. */
export function checkEnvironment(environment: Record<string, string>): void {
  for (const [name, value] of Object.entries(environment)) {
    if (!NAME.test(name) || RESERVED.test(name)) {
      throw new EngineError('invalid', 'A variable has a name that the engine does not take');
    }
    if (/[\n\0]/.test(value)) throw new EngineError('invalid', `Variable ${name}: no line breaks, no zero bytes`);
  }
}

/** Instance names are host names too. */
export function checkInstanceName(name: string): void {
  if (!/^[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(name)) {
    throw new EngineError('invalid', 'An instance name is letters, digits and dashes, and begins with a letter');
  }
}
