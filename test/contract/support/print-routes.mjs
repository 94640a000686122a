/**
 * Prints what the built application says of itself: both OpenAPI documents and, with `--router`, every route that Express
 * was given. The settings come from the environment; without `--router` none are needed.
 */
import 'reflect-metadata';
import { fileURLToPath } from 'node:url';

const dist = new URL('../../../dist/src/', import.meta.url);
const load = (path) => import(fileURLToPath(new URL(path, dist)));

async function documents() {
  const { ApiModule } = await load('roles/api.module.js');
  const { buildDocuments } = await load('surfaces/openapi.js');
  const built = await buildDocuments(ApiModule.forDocuments());
  return { public: JSON.parse(built.public), panel: JSON.parse(built.panel) };
}

async function router() {
  const { createApi } = await load('roles/api.js');
  const { loadConfig } = await load('config/config.js');
  const { createLogger } = await load('platform/observability/logger.js');
  const app = await createApi(loadConfig(process.env, '/dev/null'), createLogger({ logLevel: 'fatal' }));
  await app.init();
  const { stack } = app.getHttpAdapter().getInstance().router;
  const routes = stack.flatMap(({ route }) =>
    route ? [route.path].flat().flatMap((path) => Object.keys(route.methods).map((method) => `${method} ${path}`)) : [],
  );
  await app.close();
  return routes;
}

const answer = process.argv.includes('--router') ? await router() : await documents();
process.stdout.write(JSON.stringify(answer), () => process.exit(0));
