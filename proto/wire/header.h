// The header frame of every data-plane message: 160 bytes, little-endian, fixed. It is followed by
// `frames` raw payload frames whose meaning proto/wire/command_table.h gives for each command.
// docs/protocol.md is the normative text; tests/golden pins the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/message_port.h"
#include "strata/status.h"

namespace strata::wire {

constexpr uint32_t kMagic = 0x41525453;  // "STRA"
constexpr uint16_t kVersion = 2;         // the newest that this build speaks
constexpr uint16_t kVersionMin = 1;      // oldest that this build still understands
constexpr size_t kHeaderBytes = 160;
constexpr size_t kMessageBytesMax = size_t{64} << 20;  // header and payload; larger work is split
constexpr size_t kFramesMax = 8;
// What a client may have under way to a lane that has not granted it more: requests and the replies
// that they ask for. One request is always allowed.
constexpr uint32_t kCreditMin = 256U << 10;
constexpr uint8_t kAckDefault = 255;  // the table's level, or else the server's

// Never change or reuse a number.
enum class Command : uint16_t {
  kHello = 1,
  kShardMap = 2,
  kPing = 3,
  kLeave = 4,
  kCreateTable = 16,
  kDropTable = 17,
  kListTables = 18,
  kPull = 32,
  kPush = 33,
  kPut = 34,
  kErase = 35,
  kScan = 36,
  kStats = 37,
  kPrefetch = 38,
  kPushPull = 39,
  kCheckpoint = 48,        // cut here, save this lane's part; answered when the part is durable
  kCommitCheckpoint = 49,  // all parts are durable: write the manifest (server 0, lane 0)
  kTrimLog = 50,           // the checkpoint is committed: the log before its cut may go
  kListCheckpoints = 51,
  kReadAttachment = 52,
  kRestore = 53,
  kCut = 54,      // a number for a new checkpoint, and its cut (server 0, lane 0)
  kControl = 64,  // payload: protobuf of proto/control, admin only
  kCreateCollection = 80,
  kDropCollection = 81,
  kListCollections = 82,
  kChangeItems = 83,
  kReadItems = 84,
  kSearch = 85,
  kCollectionStats = 86,
  kFollowItems = 87,
  kScanItems = 88,
};

enum Flags : uint32_t {
  kFlagReply = 1U << 0,      // a reply; `status` holds its outcome
  kFlagSync = 1U << 1,       // part of a synchronous group: group, rank, world, first_step, step
  kFlagWithState = 1U << 2,  // scan: rows carry optimizer state and counters
  kFlagDone = 1U << 3,       // scan reply: no page follows; PREFETCH reply: hints are of no use;
                             // CUT: the checkpoint is over, the next one may begin
  kFlagFull = 1U << 4,       // CHECKPOINT: not only what changed since the last one;
                             // TRIM_LOG: all lanes have, old checkpoints may go;
                             // LIST_CHECKPOINTS: damaged ones too, in a second frame;
                             // HELLO: the lanes' other endpoints too, in a second frame;
                             // ERASE: how many rows went; PULL: which keys have a row;
                             // SEARCH: say how the answer was found, in a third frame;
                             // FOLLOW_ITEMS: documents, too
  kFlagsKnown = (1U << 5) - 1,
};

// Tables and collections go by a 64-bit hash of their names (TableIdOf, CollectionIdOf), of which
// messages carry the lower half as the id and, since version 2, the upper half as a check. Servers
// keep what they hold by the id, so two names with one id cannot both exist.
constexpr uint32_t ShortId(uint64_t name_hash) { return static_cast<uint32_t>(name_hash); }

// Field meanings; offsets are in header.cc and docs/protocol.md. Plain values in host order.
struct Header {
  uint16_t version = kVersion;
  Command command = Command::kPing;
  uint32_t flags = 0;
  uint16_t status = 0;      // StatusCode of a reply, 0 in a request
  uint64_t request_id = 0;  // echoed in the reply; a retry has a new one
  uint64_t cluster_id = 0;  // hash of the cluster's name; a request with another one is refused
  uint64_t client_hi = 0;   // the client's 128-bit random name, new for every client object
  uint64_t client_lo = 0;
  uint64_t incarnation = 0;    // lineage of the server's state x 2^16 + boot; in a request 0: any,
                               // else one of that lineage
  uint64_t sequence = 0;       // push, put, erase, create, drop: the client's number of this write;
                               // CUT: the same in its repeats, and in no other
  uint64_t settled_below = 0;  // the client will never again send a sequence below this one
  uint64_t step = 0;           // optimizer time of a push; with kFlagSync the group's step
  uint64_t first_step = 0;     // kFlagSync: the group's first step
  uint64_t cursor = 0;         // scan; of the checkpoint commands: the checkpoint's number
  uint32_t epoch = 0;          // of the shard map the sender routed by
  uint32_t table = 0;          // ShortId of the table's or collection's name
  uint32_t count = 0;          // keys in the payload (scan request: most rows wanted)
  uint32_t width = 0;          // elements per row in the payload; of the reply to a SEARCH: servers
                               // that have each document of the collection
  uint32_t timeout_ms = 0;     // what is left of the request's deadline; 0: none
  uint32_t group = 0;          // kFlagSync
  uint16_t rank = 0;           // kFlagSync
  uint16_t world = 0;          // kFlagSync
  uint8_t ack = 0;             // of a write: AckLevel, or kAckDefault
  uint8_t frames = 0;          // payload frames that follow
  uint32_t body_bytes = 0;     // their sizes added
  uint32_t cut = 0;            // the newest checkpoint cut that the sender knows of
  uint64_t body_checksum = 0;  // XXH3-64 over the payload frames' bytes, one after the other
  uint32_t credit = 0;  // of a reply: bytes that this client may have under way to this lane, or 0:
                        // nothing is said; 0 in a request
  // Version 1 has none of the following: they are not written, and are 0 when such a message is
  // read.
  uint32_t name_check = 0;  // of a request that names a table or collection: the upper half of its
                            // name's hash
  uint32_t boot_nonce = 0;  // of a reply: drawn by this boot of the server, never 0. Of a request
                            // that names nothing: what the client knows of the boot that
                            // `incarnation` is, or 0
  uint32_t trace = 0;       // chosen by the client to find the request again; echoed; 0: none

  bool is(Flags flag) const { return (flags & flag) != 0; }
  void SetName(uint64_t name_hash) {
    table = ShortId(name_hash);
    name_check = static_cast<uint32_t>(name_hash >> 32);
  }
  // In version 1, whose messages do not say more, for all names with the same id.
  bool Names(uint64_t name_hash) const {
    return table == ShortId(name_hash) && (version < 2 || name_check == name_hash >> 32);
  }
  uint64_t name_hash() const { return uint64_t{name_check} << 32 | table; }
  friend bool operator==(const Header&, const Header&) = default;
};

// Header fields to bytes in the layout of its version, CRC-32C of the bytes before it last.
std::array<std::byte, kHeaderBytes> EncodeHeader(const Header& header);

// kCorrupt when the CRC is wrong; kInvalid for a wrong size, magic, reserved bytes that are not
// zero, unknown flags or a command that does not exist; kRefused for a version that is not
// understood (message names both ranges). Commands and flags are judged only within understood
// versions.
Result<Header> DecodeHeader(std::span<const std::byte> bytes);

// What is in the same place in every version (command, the reply flag, request id, cluster id), so
// that a message whose version, flags or command are unknown can be answered with an error. Its
// version is the nearest one that is spoken here. Nothing when size, magic or CRC are wrong: such a
// message is dropped.
std::optional<Header> PeekHeader(std::span<const std::byte> bytes);

// Fills frames, body_bytes and body_checksum from the payload and puts the header in front.
Message Seal(Header header, Message payload);

// A received message, its header believed and its payload checked: the command's frame count,
// sizes, checksum, unless that `is_checked` already.
struct Received {
  Header header;
  Message payload;
};
Result<Received> Open(Message message, bool is_checked = false);

}  // namespace strata::wire
