import type { ProgramBehaviour } from '../../../src/drivers/engine/simulator/simulated-instance.js';

/** One program in both forms: real source for a real engine, and the behaviour a simulated one shows instead. */
export interface Program {
  source: string;
  behaviour: ProgramBehaviour;
  /** Replaces the command that puts the source in place. */
  installCommand?: string;
}

const IDLE = 'setInterval(() => {}, 1000);';

export const PROGRAMS = {
  /** Says `ready`, ends cleanly when asked. */
  serves: {
    source: `console.log('ready'); process.on('SIGTERM', () => { console.log('Stopping'); process.exit(0); }); ${IDLE}`,
    behaviour: { output: 'ready' },
  },
  ignoresStop: {
    source: `process.on('SIGTERM', () => {}); console.log('ready'); ${IDLE}`,
    behaviour: { output: 'ready', ignoresStop: true },
  },
  outOfMemory: {
    source: 'const held = []; for (;;) held.push(Buffer.alloc(8 << 20, 1));',
    behaviour: { endsAfterMs: 30, outOfMemory: true },
  },
  failsToInstall: {
    source: '',
    installCommand: 'echo no luck; exit 42',
    behaviour: {},
  },
  installsForever: {
    source: '',
    installCommand: 'exec sleep 600',
    behaviour: { installMs: 600_000 },
  },
} satisfies Record<string, Program>;

export function exits(code: number): Program {
  return {
    source: `console.log('ending'); process.exit(${code});`,
    behaviour: { output: 'ending', endsAfterMs: 20, exitCode: code },
  };
}

export function diesOf(name: 'SIGSEGV' | 'SIGKILL', number: number): Program {
  return {
    source: `process.kill(process.pid, '${name}'); ${IDLE}`,
    behaviour: { endsAfterMs: 20, endSignal: { name, number } },
  };
}

/** Prints as JSON what it sees of its environment. */
export const SHOWS_ENVIRONMENT: Program = {
  source: `console.log('ENV' + Buffer.from(JSON.stringify(process.env)).toString('base64') + 'END'); ${IDLE}`,
  behaviour: {},
};

/** Runs what it is sent over HTTP, with the rights of a tenant's program. */
export const TAKES_COMMANDS: Program = {
  source: `
    const { spawn } = require('node:child_process');
    require('node:http').createServer((request, response) => {
      let command = '';
      request.on('data', (chunk) => (command += chunk));
      request.on('end', () => {
        const child = spawn('sh', ['-c', command]);
        let output = '';
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
        child.on('error', (error) => response.end(JSON.stringify({ code: -1, output: String(error) })));
        child.on('close', (code) => response.end(JSON.stringify({ code, output })));
      });
    }).listen(3000, () => console.log('ready'));
    process.on('uncaughtException', (error) => console.log(String(error)));
    process.on('SIGTERM', () => process.exit(0));`,
  behaviour: {},
};
