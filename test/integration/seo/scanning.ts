import type { Api } from '../../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { DnsServer } from '../../support/dns-server.js';
import { setLimits } from '../../support/own-plan.js';
import { FixtureSite } from './fixture-site.js';

/** The platform, two sites for it to scan, and somebody who may. */
export interface Scanning {
  berth: Berth;
  site: FixtureSite;
  other: FixtureSite;
  person: TestAccount;
  /** Of names that are not below `.localhost` it knows what it is told, which is nothing at first. */
  names: DnsServer;
  /** The report on a path of the first site. */
  scan(path?: string, pages?: number, api?: Api): Promise<any>;
  stop(): Promise<void>;
}

export async function startScanning(): Promise<Scanning> {
  const [site, other, names] = await Promise.all([FixtureSite.start(), FixtureSite.start(), DnsServer.start()]);
  const env = { DNS_SERVERS: names.address };
  const berth = await startBerth({ roles: ['api'], databaseHost: false, env });
  const person = await berth.makeAccount();
  await setLimits(berth, person, { scans: 10_000 });
  return {
    ...{ berth, site, other, person, names },
    scan: async (path = '/', pages, api = person.api) => {
      const answer = await api.post('/seo/scan', { url: site.url + path, ...(pages === undefined ? {} : { pages }) });
      return answer.expect(201).body;
    },
    stop: async () => {
      await berth.close();
      await Promise.all([site.stop(), other.stop(), names.close()]);
    },
  };
}

/** Links to these addresses, as text of a page. */
export const link = (...paths: string[]): string =>
  paths.map((path) => `<a href="${path}">A page called ${path}</a>`).join(' ');
