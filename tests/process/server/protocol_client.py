"""A client of Strata's data plane, written from docs/protocol.md alone.

It knows nothing of the C++ sources. What it needs and the page does not say is a fault of the page.
Needs Debian's python3-zmq and python3-xxhash.
"""

import dataclasses
import secrets
import struct

import xxhash
import zmq

HELLO, SHARD_MAP, PING, LEAVE = 1, 2, 3, 4
CREATE_TABLE, DROP_TABLE, LIST_TABLES = 16, 17, 18
PULL, PUSH, PUT, ERASE, SCAN, STATS, PREFETCH, PUSH_PULL = 32, 33, 34, 35, 36, 37, 38, 39
CREATE_COLLECTION, DROP_COLLECTION, LIST_COLLECTIONS = 80, 81, 82
CHANGE_ITEMS, READ_ITEMS, SEARCH, COLLECTION_STATS = 83, 84, 85, 86
SCAN_ITEMS = 88

REPLY, WITH_STATE, DONE, FULL = 1, 4, 8, 16

OK, INVALID, LOST, REFUSED, NOT_FOUND, EXISTS, CORRUPT, SESSION_EXPIRED = 0, 2, 3, 4, 5, 6, 8, 11

TABLE_SEED = 0x7461626C65
COLLECTION_SEED = 0x636F6C6C656374
SHARDS = 1024
REPLY_TIMEOUT_MS = 10_000


def _crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def shard_of(key):
    return mix64(key) >> 54


def id_and_check(name, seed):
    """(table, name_check) of the header, for the name of a table or collection."""
    whole = xxhash.xxh3_64_intdigest(name.encode(), seed=seed)
    return whole % 2**32 or 1, whole >> 32


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def u64s(values):
    return struct.pack(f"<{len(values)}Q", *values)


def u32s(values):
    return struct.pack(f"<{len(values)}I", *values)


def unpack_all(code, data):
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


@dataclasses.dataclass
class Header:
    """The page's fields, in their order. The word at 148 is name_check or boot_nonce."""

    magic: bytes = b"STRA"
    version: int = 2
    command: int = 0
    flags: int = 0
    status: int = 0
    reserved_14: int = 0
    request_id: int = 0
    cluster_id: int = 0
    client_hi: int = 0
    client_lo: int = 0
    incarnation: int = 0
    sequence: int = 0
    settled_below: int = 0
    step: int = 0
    first_step: int = 0
    cursor: int = 0
    epoch: int = 0
    table: int = 0
    count: int = 0
    width: int = 0
    timeout_ms: int = 0
    group: int = 0
    rank: int = 0
    world: int = 0
    ack: int = 0
    frames: int = 0
    reserved_126: int = 0
    body_bytes: int = 0
    cut: int = 0
    body_checksum: int = 0
    credit: int = 0
    word_148: int = 0
    trace: int = 0
    crc: int = 0

    LAYOUT = struct.Struct("<4sHHIHH10Q6I2H2BH2IQ4I")
    SIZE = 160

    def encode(self):
        data = self.LAYOUT.pack(*dataclasses.astuple(self))[:-4]
        return data + struct.pack("<I", crc32c(data))

    @classmethod
    def decode(cls, data):
        if len(data) != cls.SIZE:
            raise ValueError(f"a header has {cls.SIZE} bytes, not {len(data)}")
        header = cls(*cls.LAYOUT.unpack(data))
        if header.magic != b"STRA" or header.crc != crc32c(data[:-4]):
            raise ValueError("a header with another magic or a wrong crc")
        return header


@dataclasses.dataclass
class Reply:
    header: Header
    frames: list

    @property
    def text(self):
        """Of an error."""
        return self.frames[0].decode()


# What a reply has of a request that the server could not read on.
ECHOED_UNREAD = ("command", "request_id", "cluster_id")
ECHOED = ("version", "command", "request_id", "cluster_id", "client_hi", "client_lo", "sequence",
          "settled_below", "step", "first_step", "epoch", "table", "timeout_ms", "group", "rank",
          "world", "ack", "trace")


class Client:
    """One client object: its 128-bit name, its writes' numbers, a DEALER for each endpoint."""

    def __init__(self, context, cluster):
        self._context = context
        self._sockets = {}
        self._sequences = {}
        self._next_request = 1
        self.cluster_id = xxhash.xxh3_64_intdigest(cluster.encode())
        self.hi, self.lo = secrets.randbits(64), secrets.randbits(64)

    def close(self):
        for socket in self._sockets.values():
            socket.close(linger=0)

    def next_sequence(self, endpoint):
        """The number of the next write to this lane. All writes before it were answered."""
        self._sequences[endpoint] = self._sequences.get(endpoint, 0) + 1
        return self._sequences[endpoint]

    def call(self, endpoint, command, frames=(), echoed=ECHOED, **fields):
        """Sends one request, waits for its reply and checks what every reply must keep to."""
        request = self._request(command, frames, fields)
        socket = self._socket(endpoint)
        socket.send_multipart([request.encode(), *frames])
        while True:
            if not socket.poll(REPLY_TIMEOUT_MS):
                raise TimeoutError(f"no reply to command {command} from {endpoint}")
            head, *body = socket.recv_multipart()
            reply = Reply(Header.decode(head), body)
            if reply.header.request_id == request.request_id:
                check_reply(request, reply, echoed)
                return reply

    def _socket(self, endpoint):
        if endpoint not in self._sockets:
            socket = self._context.socket(zmq.DEALER)
            socket.connect(endpoint)
            self._sockets[endpoint] = socket
        return self._sockets[endpoint]

    def _request(self, command, frames, fields):
        request = Header(command=command, cluster_id=self.cluster_id, client_hi=self.hi,
                         client_lo=self.lo, timeout_ms=REPLY_TIMEOUT_MS,
                         request_id=self._next_request)
        self._next_request += 1
        payload = b"".join(frames)
        request.frames, request.body_bytes = len(frames), len(payload)
        request.body_checksum = xxhash.xxh3_64_intdigest(payload)
        return dataclasses.replace(request, **fields)


def check_reply(request, reply, echoed):
    header = reply.header
    for field in echoed:
        expected, found = getattr(request, field), getattr(header, field)
        if expected != found:
            raise ValueError(f"{field} of a reply: expected the request's {expected}, got {found}")
    if not header.flags & REPLY:
        raise ValueError(f"flags of a reply: {header.flags:#x}")
    if header.reserved_14 or header.reserved_126:
        raise ValueError("reserved bytes of a reply are not 0")
    payload = b"".join(reply.frames)
    if (header.frames, header.body_bytes) != (len(reply.frames), len(payload)):
        raise ValueError("a reply's frames are not as its header says")
    if header.body_checksum != xxhash.xxh3_64_intdigest(payload):
        raise ValueError("a reply's checksum does not fit")
    if header.status != OK and len(reply.frames) != 1:
        raise ValueError(f"an error with {len(reply.frames)} frames")
    if header.version == 1 and (header.word_148 or header.trace):
        raise ValueError("bytes 148 to 155 of a reply in version 1 are not 0")
    if header.version == 2 and header.word_148 == 0:
        raise ValueError("a reply in version 2 without a boot nonce")


def hello_request(name, version_min=1, version_max=2):
    return struct.pack("<4H", version_min, version_max, len(name), 0) + name.encode()


@dataclasses.dataclass
class Hello:
    version_min: int
    version_max: int
    server: int
    servers: int
    incarnation: int
    ports: list
    server_version: str

    @classmethod
    def decode(cls, data):
        low, high, server, servers, incarnation, lanes, length, reserved = struct.unpack_from(
            "<4HQ2HI", data)
        ports = list(struct.unpack_from(f"<{lanes}H", data, 24))
        text = data[24 + 2 * lanes:]
        if reserved != 0 or len(text) != length:
            raise ValueError("a hello reply whose size is not as its counts say")
        return cls(low, high, server, servers, incarnation, ports, text.decode())


def decode_blocks(data):
    blocks = []
    while data:
        length, = struct.unpack_from("<I", data)
        blocks.append(data[4:4 + length])
        data = data[4 + length:]
    return blocks


@dataclasses.dataclass
class ShardMap:
    epoch: int
    lanes: list   # (server, lane)
    owners: list  # of each shard, index of its lane

    @classmethod
    def decode(cls, data):
        epoch, lanes, reserved = struct.unpack_from("<I2H", data)
        numbers = struct.unpack_from(f"<{2 * lanes + SHARDS}H", data, 8)
        if reserved != 0 or len(data) != 8 + 2 * len(numbers):
            raise ValueError("a shard map whose size is not as its counts say")
        pairs = list(zip(numbers[0:2 * lanes:2], numbers[1:2 * lanes:2]))
        return cls(epoch, pairs, list(numbers[2 * lanes:]))


TABLE_HEAD = struct.Struct("<4BIQ6f")


SGD, ADAGRAD = 1, 2
ZERO = 1


def table_definition(name, dim, learning_rate, optimizer=SGD):
    """Rows begin at zero, and writes are acknowledged as the server likes."""
    epsilon, beta1, beta2, initial_accumulator, initializer_scale = 1e-7, 0.9, 0.999, 0.0, 0.0
    head = TABLE_HEAD.pack(len(name), 0, optimizer, ZERO, dim, 0, learning_rate, epsilon, beta1,
                           beta2, initial_accumulator, initializer_scale)
    return head + name.encode()


def decode_definitions(data):
    """Names and dims of definitions without extensions."""
    tables = {}
    while data:
        length, _, _, _, dim, *_ = TABLE_HEAD.unpack_from(data)
        end = TABLE_HEAD.size + length
        tables[data[TABLE_HEAD.size:end].decode()] = dim
        data = data[end:]
    return tables


def collection_definition(name, attributes=()):
    data = struct.pack("<2B", len(attributes), len(name)) + name.encode()
    for attribute in attributes:
        data += struct.pack("<B", len(attribute)) + attribute.encode()
    return data


PUT_IN, GONE = 1, 2


def item_change(kind, document, tokens=(), attributes=()):
    head = struct.pack("<4IQ", kind, len(tokens), len(attributes), 0, document)
    return head + struct.pack(f"<{len(attributes)}q", *attributes) + u32s(tokens)


def decode_item_changes(data):
    """{id: (tokens, attributes)} of changes that put documents in."""
    documents = {}
    while data:
        kind, tokens, attributes, reserved, document = struct.unpack_from("<4IQ", data)
        if kind != PUT_IN or reserved != 0:
            raise ValueError("expected changes that put documents in")
        at = 24 + 8 * attributes
        end = at + 4 * tokens
        documents[document] = (unpack_all("I", data[at:end]), unpack_all("q", data[24:at]))
        data = data[end:]
    return documents


def search_terms(metric, k, least=(0, 1), ranges=()):
    head = struct.pack("<4I3Q", metric, 0, k, len(ranges), *least, 0)
    return head + b"".join(struct.pack("<2I2q", attribute, 0, low, high)
                           for attribute, low, high in ranges)


def search_query(queries):
    """The frames `offsets` and `tokens`."""
    offsets = [0]
    for tokens in queries:
        offsets.append(offsets[-1] + len(tokens))
    return u64s(offsets), u32s([token for tokens in queries for token in tokens])


def decode_hits(offsets, hits):
    """A list for each query, of (id, tokens in common, tokens of the document)."""
    found = [struct.unpack_from("<Q2I", hits, at) for at in range(0, len(hits), 16)]
    bounds = unpack_all("Q", offsets)
    if bounds[0] != 0 or bounds[-1] != len(found):
        raise ValueError("offsets that do not fit their hits")
    return [found[low:high] for low, high in zip(bounds, bounds[1:])]
