import { Controller, Get, Header } from '@nestjs/common';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { ApiExcludeController } from '../../../platform/http/openapi-annotations.js';

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Berth</title></head>
<body>
<h1>Berth</h1>
<p id="who" role="status">One moment.</p>
<p><a id="in" href="/panel/api/auth/login?returnTo=/panel" hidden>Sign in</a><button id="out" hidden>Sign out</button></p>
<script type="module" src="/panel/panel.js"></script>
</body>
</html>
`;

const SCRIPT = `const [who, signIn, signOut] = ['who', 'in', 'out'].map((id) => document.getElementById(id));
const answer = await fetch('/panel/api/auth/session').catch(() => null);
if (answer?.ok) {
  const { account } = await answer.json();
  who.textContent = 'Signed in as ' + account.username + ' (' + account.email + ').';
  signOut.hidden = false;
} else {
  who.textContent = answer?.status === 401 ? 'Nobody is signed in.' : 'The panel is not available at the moment.';
  signIn.hidden = answer?.status !== 401;
}
signOut.addEventListener('click', async () => {
  const ended = await fetch('/panel/api/auth/logout', { method: 'POST', headers: { 'X-Panel': '1' } });
  const { endSessionUrl } = ended.ok ? await ended.json() : {};
  location.assign(endSessionUrl ?? '/panel');
});
`;

/** The panel's front page, which says who is signed in. */
@Controller('panel')
@Unscoped('A page that holds nothing of anybody')
@ApiExcludeController()
export class PanelPageController {
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  @Header('Cache-Control', 'no-cache')
  page(): string {
    return PAGE;
  }

  @Get('panel.js')
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  @Header('Cache-Control', 'no-cache')
  script(): string {
    return SCRIPT;
  }
}
