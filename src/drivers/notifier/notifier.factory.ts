import { DiscordNotifier } from './discord/discord-notifier.js';
import { Notifier, NotifierError } from './notifier.js';

export interface NotifierOptions {
  url: string;
  token: string | undefined;
}

/** Stands where no chat platform is set. */
class NoNotifier extends Notifier {
  override async sendPrivateMessage(): Promise<void> {
    throw new NotifierError('not_configured', 'No chat platform is set.');
  }
}

export function createNotifier({ url, token }: NotifierOptions): Notifier {
  return token ? new DiscordNotifier({ url, token }) : new NoNotifier();
}
