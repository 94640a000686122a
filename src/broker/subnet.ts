import { BlockList } from 'node:net';

/** The app network, from the gateway's own address in it such as `10.158.0.1/16`. */
export class Subnet {
  readonly gateway: string;
  private readonly addresses = new BlockList();

  constructor(appSubnet: string) {
    const [gateway = '', prefix = ''] = appSubnet.split('/');
    this.gateway = gateway;
    this.addresses.addSubnet(gateway, Number(prefix), 'ipv4');
  }

  /** Whether a program may have this address: the gateway's is the node's own. */
  mayCall(address: string): boolean {
    return address !== this.gateway && this.addresses.check(address, 'ipv4');
  }
}
