/** An IPv4 subnet, its addresses as numbers. */
export interface Subnet {
  gateway: number;
  /** First and last address that may be given out. */
  first: number;
  last: number;
}

/** Of the gateway's address with its prefix length, `10.158.0.1/16`. */
export function parseSubnet(text: string): Subnet {
  const [ip = '', prefix = ''] = text.split('/');
  const gateway = ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(prefix));
  const network = Math.floor(gateway / size) * size;
  return { gateway, first: network + 1, last: network + size - 2 };
}

export function formatIp(ip: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(ip / 2 ** shift) % 256).join('.');
}
