import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { promisify } from 'node:util';

const IDENTITY = {
  GIT_AUTHOR_NAME: 'test',
  GIT_AUTHOR_EMAIL: 'test@example.test',
  GIT_COMMITTER_NAME: 'test',
  GIT_COMMITTER_EMAIL: 'test@example.test',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
};

/** A git repository that services install from, over plain ("dumb") HTTP on an address that their network reaches. */
export class GitServer {
  private readonly folder = mkdtempSync(join(tmpdir(), 'berth-git-'));
  private readonly work = join(this.folder, 'work');
  private readonly bare = join(this.folder, 'program.git');
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  private stalled = false;
  private server!: Server;

  private constructor(private readonly host: string) {}

  static async start(host: string): Promise<GitServer> {
    const git = new GitServer(host);
    mkdirSync(git.work);
    await git.git(git.work, 'init', '--quiet', '--initial-branch=main');
    await git.git(git.folder, 'init', '--quiet', '--bare', '--initial-branch=main', git.bare);
    git.server = createServer((request, response) => {
      const path = normalize(decodeURIComponent((request.url ?? '/').split('?')[0]!));
      git.asked.push(path);
      if (git.stalled) return;
      try {
        response.end(readFileSync(join(git.folder, path)));
      } catch {
        response.writeHead(404).end();
      }
    });
    git.server.listen(0, host);
    await once(git.server, 'listening');
    return git;
  }

  get url(): string {
    return `http://${this.host}:${(this.server.address() as AddressInfo).port}/program.git`;
  }

  /** Publishes a commit with these files on a branch. */
  async commit(branch: string, files: Record<string, string>): Promise<void> {
    await this.git(this.work, 'checkout', '--quiet', '-B', branch);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(this.work, name), content);
    await this.git(this.work, 'add', '--all');
    await this.git(this.work, 'commit', '--quiet', '--message', `Change ${branch}`);
    await this.git(this.work, 'push', '--quiet', '--force', this.bare, branch);
    await this.git(this.bare, 'update-server-info');
  }

  /** From now on requests are taken and not answered. */
  stall(): void {
    this.stalled = true;
  }

  answerAgain(): void {
    this.stalled = false;
    this.server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async git(cwd: string, ...args: string[]): Promise<void> {
    await promisify(execFile)('git', args, { cwd, env: { PATH: process.env.PATH, HOME: this.folder, ...IDENTITY } });
  }
}
