/**
 * A program that asks its secrets from the broker, logs in to the database it finds there and runs a statement, with nothing
 * but what Python brings along. Prints the cells of the first row, or what the server said against it. The address of the
 * database may be given; the secret's is taken otherwise.
 */
export const ASKS_ITS_DATABASE = `
import hashlib, json, socket, struct, sys, urllib.parse, urllib.request
gateway, sql = sys.argv[1], sys.argv[2]
secrets = json.load(urllib.request.urlopen('http://' + gateway + ':7458/v1/secrets', timeout=5))
url = urllib.parse.urlparse(sys.argv[3] if len(sys.argv) > 3 else secrets['DATABASE_URL'])
try:
    server = socket.create_connection((url.hostname, url.port), timeout=3)
except Exception as error:
    print('unreachable', type(error).__name__)
    sys.exit(0)

def exactly(count):
    data = b''
    while len(data) < count:
        part = server.recv(count - len(data))
        if not part:
            raise EOFError()
        data += part
    return data

def packet():
    head = exactly(4)
    return exactly(head[0] | head[1] << 8 | head[2] << 16)

def send(number, data):
    server.sendall(struct.pack('<I', len(data))[:3] + bytes([number]) + data)

def refused(data):
    print('refused', struct.unpack('<H', data[1:3])[0])
    sys.exit(0)

hello = packet()
if hello[0] == 255:
    refused(hello)
at = hello.index(0, 1) + 5
seed = hello[at:at + 8]
at += 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10
seed += hello[at:at + 12]
once = hashlib.sha1(url.password.encode()).digest()
mixed = hashlib.sha1(seed + hashlib.sha1(once).digest()).digest()
token = bytes(a ^ b for a, b in zip(once, mixed))
# Protocol 4.1, secure connection, a schema, native passwords.
flags = 0x200 | 0x8000 | 0x8 | 0x80000
send(1, struct.pack('<IIB23x', flags, 1 << 24, 45) + url.username.encode() + b'\\0' + bytes([len(token)]) + token
     + url.path[1:].encode() + b'\\0' + b'mysql_native_password\\0')
answer = packet()
if answer[0] == 255:
    refused(answer)
send(0, b'\\x03' + sql.encode())
answer = packet()
if answer[0] == 255:
    refused(answer)
if answer[0] == 0:
    print('done')
    sys.exit(0)
while packet()[0] != 254:
    pass
row, cells, at = packet(), [], 0
while at < len(row):
    cells.append(row[at + 1:at + 1 + row[at]].decode())
    at += 1 + row[at]
print('row', *cells)
`;
