// The payloads of commands that are about the server and its tables, and what all replies have in
// common. docs/protocol.md has their bytes; command_table.h says which command has which.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/message_port.h"
#include "proto/wire/element_types.h"
#include "proto/wire/header.h"
#include "proto/wire/optimizer_extension.h"
#include "strata/status.h"

namespace strata::wire {

// HELLO: who is there. Sent by a client to every server before anything else.
struct HelloRequest {
  uint16_t version_min = kVersionMin;
  uint16_t version_max = kVersion;
  std::string client_name;  // for people: "worker 3", "strata-admin"; at most 128 bytes
};
struct HelloReply {
  uint16_t version_min = kVersionMin;
  uint16_t version_max = kVersion;
  uint16_t server = 0;   // index in the machine list
  uint16_t servers = 1;  // servers in the machine list
  uint64_t incarnation = 0;
  std::vector<uint16_t> lane_ports;  // TCP port of each lane; the host is the one the client used
  std::string server_version;        // "0.1.0"; at most 128 bytes
  // Where processes of the server's host reach each lane without TCP, "shm://NAME", at most 128
  // bytes; empty: nowhere. A frame of its own, in a reply to a HELLO with kFlagFull.
  std::vector<std::string> lane_endpoints = {};
};
Frame EncodeHelloRequest(const HelloRequest& request);
Result<HelloRequest> DecodeHelloRequest(std::span<const std::byte> bytes);
Frame EncodeHelloReply(const HelloReply& reply);
Result<HelloReply> DecodeHelloReply(std::span<const std::byte> bytes);
// The reply's second frame: blocks (EncodeBlocks).
Frame EncodeLaneEndpoints(std::span<const std::string> endpoints);
// kInvalid unless they are those of `lanes` lanes.
Result<std::vector<std::string>> DecodeLaneEndpoints(const Frame& frame, size_t lanes);

// CREATE_TABLE and LIST_TABLES: a table's definition in the wire's own terms, so that proto does
// not depend on storage; ps translates. Decoding checks sizes and trailing bytes, not meaning.
struct TableDefinition {
  std::string name;  // at most 128 bytes
  uint32_t dim = 0;
  uint64_t seed = 0;
  uint8_t optimizer = 0;    // OptimizerKind
  uint8_t initializer = 0;  // InitializerKind
  float learning_rate = 0, epsilon = 0, beta1 = 0, beta2 = 0, initial_accumulator = 0;
  float initializer_scale = 0;
  uint8_t ack = kAckDefault;  // AckLevel of writes that name none, or kAckDefault
  std::optional<OptimizerExtension> extension = {};
  ElementTypes types = {};
  friend bool operator==(const TableDefinition&, const TableDefinition&) = default;
};
Frame EncodeTableDefinitions(std::span<const TableDefinition> tables);
Result<std::vector<TableDefinition>> DecodeTableDefinitions(std::span<const std::byte> bytes);

// STATS: seven u64 counts in the order of storage's TableStats.
struct StatsReply {
  uint64_t rows = 0, bytes = 0, lookups = 0, lookup_hits = 0, updates = 0, steps = 0, rejected = 0;
  friend bool operator==(const StatsReply&, const StatsReply&) = default;
};
Frame EncodeStats(const StatsReply& stats);
Result<StatsReply> DecodeStats(std::span<const std::byte> bytes);

// Keys of a request: a lane works on all of them in one go, and others wait meanwhile.
constexpr size_t kKeysMax = size_t{1} << 20;

// Views into a frame; kInvalid unless the frame holds exactly `count` elements (count x width). The
// bytes are little-endian and may be unaligned, hence the copies.
Result<std::vector<uint64_t>> ReadKeys(const Frame& frame, uint32_t count);
Result<std::vector<float>> ReadRows(const Frame& frame, uint32_t count, uint32_t width);
// OK: ReadRows would be.
Status CheckRows(const Frame& frame, uint32_t count, uint32_t width);

// The header of a reply to `request`: everything echoed, and the sender's incarnation. A scan sets
// cursor, count, width and kFlagDone in it.
Header ReplyHeader(const Header& request, uint64_t incarnation);
// The reply to `request` with the given outcome; an error's text becomes its only frame.
Message MakeReply(const Header& request, uint64_t incarnation, const Status& status,
                  Message payload);
// The Status that a reply carries (its code, and the text of an error reply).
Status StatusOfReply(const Received& reply);

}  // namespace strata::wire
