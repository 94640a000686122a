export interface VariableFault {
  code: string;
  detail: string;
}

/** What speaks against a value of a startup variable; undefined when nothing does. */
export function variableFault(key: string, value: string, allowFile: boolean): VariableFault | undefined {
  switch (key) {
    case 'STARTUP_FILE':
      return startupFileFault(value);
    case 'GIT_REPOSITORY':
      return repositoryFault(value, allowFile);
    case 'GIT_BRANCH':
      return branchFault(value);
    default:
      return undefined;
  }
}

function startupFileFault(value: string): VariableFault | undefined {
  if (value === '') return { code: 'required', detail: 'value must name a file.' };
  if (value.startsWith('-') || value.startsWith('/') || value.split('/').includes('..')) {
    return { code: 'pattern', detail: 'value must be a path inside /home/container.' };
  }
  return undefined;
}

/**
 * Only protocols that reach no file of the image and no ssh agent, unless the operator allows `file`. The text itself is
 * judged, not what `URL` makes of it: that one trims and mends, while git gets the value as it is.
 */
function repositoryFault(value: string, allowFile: boolean): VariableFault | undefined {
  if (value === '') return undefined;
  const starts = allowFile ? ['http://', 'https://', 'file://'] : ['http://', 'https://'];
  const [, start = ''] = /^([a-z]+:\/\/)[^\s\p{Cc}]+$/u.exec(value) ?? [];
  if (!starts.includes(start) || !URL.canParse(value)) {
    const detail = `value must be an address without blanks that starts with ${starts.join(', ')}.`;
    return { code: 'pattern', detail };
  }
  return undefined;
}

/** The part of git-check-ref-format(1) that keeps a name from being read as an option or a range. */
function branchFault(value: string): VariableFault | undefined {
  const wrong = value.startsWith('-') || value.includes('..') || /[\s~^:?*[\\]/.test(value) || value.endsWith('.lock');
  return wrong ? { code: 'pattern', detail: 'value must be the name of a branch or tag.' } : undefined;
}
