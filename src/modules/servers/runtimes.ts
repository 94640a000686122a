export const RUNTIMES = ['nodejs', 'python', 'java'] as const;
export type Runtime = (typeof RUNTIMES)[number];

export interface VariableDefinition {
  key: string;
  name: string;
  description: string;
  defaultValue: string;
}

export interface RuntimeDefinition {
  /** Aliases of the curated images a service of this runtime may use; the first is the one it is made with. */
  images: readonly [string, ...string[]];
  /** How the image's entry starts the program, for people to read. */
  command: string;
  variables: readonly VariableDefinition[];
}

function variables(startupFile: string): VariableDefinition[] {
  return [
    {
      key: 'STARTUP_FILE',
      name: 'Startup file',
      description: 'File that is started, relative to /home/container.',
      defaultValue: startupFile,
    },
    {
      key: 'GIT_REPOSITORY',
      name: 'Git repository',
      description:
        'Address the program is cloned from at installation; without one a small starter program is written.',
      defaultValue: '',
    },
    {
      key: 'GIT_BRANCH',
      name: 'Git branch',
      description: 'Branch or tag to clone; the default branch when empty.',
      defaultValue: '',
    },
    {
      key: 'INSTALL_COMMAND',
      name: 'Install command',
      description: 'Shell command run inside the container at installation, after the clone; its exit code decides.',
      defaultValue: '',
    },
  ];
}

export const RUNTIME_CATALOG: Record<Runtime, RuntimeDefinition> = {
  nodejs: { images: ['nodejs'], command: 'node "$STARTUP_FILE"', variables: variables('index.js') },
  python: { images: ['python'], command: 'python3 -u "$STARTUP_FILE"', variables: variables('main.py') },
  java: {
    images: ['java'],
    command: 'java -XX:MaxRAM=${SERVER_MEMORY}m -jar "$STARTUP_FILE"',
    variables: variables('Main.java'),
  },
};
