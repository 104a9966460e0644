// The bodies of a lane's log records (docs/decisions/0006):
//
//   WRITES    one or more of: header 160 bytes, payload (header's body_bytes)
//   ANSWER    header 160 bytes, status code u16, text
//   EXPIRED   client hi u64, lo u64
//   CUT       number u32
//   RESTORED  header 160 bytes, number u32, digest hi u64, lo u64
//
// Numbers are little-endian. A header is the received one, frame count and sizes in it included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/message_port.h"
#include "proto/format/digest.h"
#include "proto/wire/header.h"
#include "ps/shard/dedup_window.h"
#include "strata/status.h"

namespace strata {

// A body in pieces, as Log::Append takes it. What Add is given as a span must outlive it.
class RecordBody {
 public:
  void Add(const wire::Header& header);
  void Add(std::span<const std::byte> bytes) { pieces_.push_back(bytes); }
  void AddWrite(const wire::Header& header, const Message& payload);
  std::span<const std::span<const std::byte>> pieces() const { return pieces_; }

 private:
  std::deque<std::array<std::byte, wire::kHeaderBytes>> headers_;  // stay where they are
  std::vector<std::span<const std::byte>> pieces_;
};

// A write as it came: its payload frames are views into the record.
struct LoggedWrite {
  wire::Header header;
  Message payload;
};
// kCorrupt when the bytes are no such body; at least one write otherwise.
Result<std::vector<LoggedWrite>> DecodeWrites(std::span<const std::byte> body);

struct LoggedAnswer {
  wire::Header header;
  Status answer;
};
std::vector<std::byte> EncodeAnswer(const LoggedAnswer& answer);
Result<LoggedAnswer> DecodeAnswer(std::span<const std::byte> body);

std::vector<std::byte> EncodeExpired(const ClientId& client);
Result<ClientId> DecodeExpired(std::span<const std::byte> body);

std::vector<std::byte> EncodeCut(uint32_t number);
Result<uint32_t> DecodeCut(std::span<const std::byte> body);

struct LoggedRestore {
  wire::Header header;
  uint32_t number = 0;
  format::Digest digest;   // of the checkpoint's manifest
  std::string table = {};  // the only one that was replaced; "": all
};
std::vector<std::byte> EncodeRestored(const LoggedRestore& restored);
Result<LoggedRestore> DecodeRestored(std::span<const std::byte> body);

}  // namespace strata
