/** `<account's username>.<first 8 digits of the service's uuid>`: who logs in, and to what. */
export function sftpUsername(username: string, uuid: string): string {
  return `${username}.${uuid.slice(0, 8)}`;
}

export interface SftpName {
  username: string;
  uuidStart: string;
}

/** Taken apart at the last dot; null when it is no name of this kind. */
export function parseSftpUsername(name: string): SftpName | null {
  const [, username, uuidStart] = /^([\x21-\x7e]{1,64})\.([0-9a-f]{8})$/i.exec(name) ?? [];
  if (!username || !uuidStart) return null;
  return { username: username.toLowerCase(), uuidStart: uuidStart.toLowerCase() };
}
