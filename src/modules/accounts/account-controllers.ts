import { ChatPanelController } from './chat.panel.controller.js';
import { KeysPanelController } from './keys.panel.controller.js';
import { MePanelController } from './me.panel.controller.js';
import { MePublicController } from './me.public.controller.js';
import { PanelLoginController } from './panel/panel-login.controller.js';
import { PanelPageController } from './panel/panel-page.controller.js';
import { PanelSessionController } from './panel/panel-session.controller.js';

/** What this module puts on the public surface. */
export const ACCOUNT_PUBLIC_CONTROLLERS = [MePublicController];

/** What it puts on the panel's: the account, its keys, the login and the front page. */
export const ACCOUNT_PANEL_CONTROLLERS = [
  MePanelController,
  ChatPanelController,
  KeysPanelController,
  PanelLoginController,
  PanelSessionController,
  PanelPageController,
];
