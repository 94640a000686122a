import { Injectable } from '@nestjs/common';
import { Config, ConfigError, readSecretFile } from '../../../config/config.js';
import { PANEL_PREFIX } from '../../../platform/auth/panel-api.decorator.js';

/** What the panel's login goes by, read once. */
@Injectable()
export class PanelSettings {
  readonly origin: string;
  readonly callbackUrl: string;
  readonly panelUrl: string;
  /** Over https cookies are bound to the host and to https; plain http is for development. */
  readonly secure: boolean;
  readonly sessionCookie: string;
  readonly loginCookie: string;
  /** The first signs, the others are still taken: that is how the secret is changed. One a line in the file. */
  readonly sessionSecrets: string[];
  readonly signupOpen: boolean;

  constructor(config: Config) {
    const url = new URL(config.publicUrl);
    this.origin = url.origin;
    this.secure = url.protocol === 'https:';
    this.panelUrl = `${url.origin}/panel`;
    this.callbackUrl = `${url.origin}/${PANEL_PREFIX}/auth/callback`;
    this.sessionCookie = this.secure ? '__Host-sid' : 'sid';
    this.loginCookie = this.secure ? '__Host-login' : 'login';
    this.sessionSecrets = readSecretFile(config, 'sessionSecretFile')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
    if (this.sessionSecrets.some((secret) => secret.length < 32)) {
      throw new ConfigError(
        'Settings: the file that SESSION_SECRET_FILE names holds a secret of less than 32 characters.',
      );
    }
    this.signupOpen = config.signup === 'open';
  }
}
