/** What an operator can say about the broker. */
export class BrokerSettings {
  constructor(
    /** The gateway's address on the app network, and the port there. */
    readonly gateway: string,
    readonly port: number,
    readonly readsPerMinute: number,
    /** For how long secrets are served from memory while the control plane is away. */
    readonly offlineSeconds: number,
  ) {}
}
