#include "proto/wire/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "proto/wire/body_checksum.h"
#include "proto/wire/bytes.h"
#include "proto/wire/command_table.h"

namespace strata::wire {
namespace {

// Where each field lies: docs/protocol.md has the same table. The fields of the first 32 bytes and
// the CRC keep their places in every version, so that an unknown version can be answered.
constexpr size_t kAtMagic = 0;
constexpr size_t kAtVersion = 4;
constexpr size_t kAtCommand = 6;
constexpr size_t kAtFlags = 8;
constexpr size_t kAtStatus = 12;
constexpr size_t kAtReserved1 = 14;  // 2 bytes
constexpr size_t kAtRequestId = 16;
constexpr size_t kAtClusterId = 24;
constexpr size_t kAtClientHi = 32;
constexpr size_t kAtClientLo = 40;
constexpr size_t kAtIncarnation = 48;
constexpr size_t kAtSequence = 56;
constexpr size_t kAtSettledBelow = 64;
constexpr size_t kAtStep = 72;
constexpr size_t kAtFirstStep = 80;
constexpr size_t kAtCursor = 88;
constexpr size_t kAtEpoch = 96;
constexpr size_t kAtTable = 100;
constexpr size_t kAtCount = 104;
constexpr size_t kAtWidth = 108;
constexpr size_t kAtTimeoutMs = 112;
constexpr size_t kAtGroup = 116;
constexpr size_t kAtRank = 120;
constexpr size_t kAtWorld = 122;
constexpr size_t kAtAck = 124;
constexpr size_t kAtFrames = 125;
constexpr size_t kAtReserved2 = 126;  // 2 bytes
constexpr size_t kAtBodyBytes = 128;
constexpr size_t kAtCut = 132;
constexpr size_t kAtBodyChecksum = 136;
constexpr size_t kAtCredit = 144;
constexpr size_t kAtNameCheck = 148;  // or the nonce, see BearsName; reserved in version 1
constexpr size_t kAtTrace = 152;      // reserved in version 1
constexpr size_t kAtCrc = 156;
static_assert(kAtCrc + 4 == kHeaderBytes);

uint64_t ChecksumOf(std::span<const Frame> frames) {
  if (frames.size() == 1) return Hash64(frames[0].bytes());
  BodyChecksum checksum;
  for (const Frame& frame : frames) checksum.Add(frame.bytes());
  return checksum.Sum();
}

// Size, magic and CRC: what is the same in every version.
Status CheckFrozenPart(std::span<const std::byte> bytes) {
  if (bytes.size() != kHeaderBytes) {
    return Invalid(
        fmt::format("message header: expected {} bytes, found {}", kHeaderBytes, bytes.size()));
  }
  const auto magic = LoadLittle<uint32_t>(bytes.data() + kAtMagic);
  if (magic != kMagic) {
    return Invalid(
        fmt::format("message header: expected magic {:#x}, found {:#x}; the peer does "
                    "not speak Strata's protocol",
                    kMagic, magic));
  }
  const auto crc = LoadLittle<uint32_t>(bytes.data() + kAtCrc);
  const uint32_t found = Crc32c(bytes.first(kAtCrc));
  if (crc != found) {
    return Corrupt(fmt::format("message header: CRC says {:#x}, bytes give {:#x}", crc, found));
  }
  return {};
}

Status CheckReserved(std::span<const std::byte> bytes, uint16_t version) {
  const struct {
    size_t at, size;
  } reserved[] = {{kAtReserved1, 2}, {kAtReserved2, 2}, {kAtNameCheck, version < 2 ? 8U : 0U}};
  for (const auto& range : reserved) {
    for (size_t i = range.at; i < range.at + range.size; ++i) {
      if (bytes[i] != std::byte{0}) {
        return Invalid(fmt::format("message header: reserved byte {} must be 0, found {}", i,
                                   std::to_integer<int>(bytes[i])));
      }
    }
  }
  return {};
}

Status CheckMeaning(const Header& h) {
  if ((h.flags & ~static_cast<uint32_t>(kFlagsKnown)) != 0) {
    return Invalid(fmt::format("message header: unknown flags {:#x}", h.flags & ~kFlagsKnown));
  }
  if (FindCommand(static_cast<uint16_t>(h.command)) == nullptr) {
    return Invalid(
        fmt::format("message header: no such command {}", static_cast<uint16_t>(h.command)));
  }
  if (!h.is(kFlagReply) && h.status != 0) {
    return Invalid(fmt::format("message header: a request's status must be 0, found {}", h.status));
  }
  if (!h.is(kFlagReply) && h.credit != 0) {
    return Invalid(fmt::format("message header: a request's credit must be 0, found {}", h.credit));
  }
  if (h.frames > kFramesMax) {
    return Invalid(
        fmt::format("message header: at most {} payload frames, found {}", kFramesMax, h.frames));
  }
  return {};
}

// Whether bytes 148 to 151 are of a name; else they are of a boot.
bool BearsName(const Header& h) {
  const CommandInfo* const info = FindCommand(static_cast<uint16_t>(h.command));
  return !h.is(kFlagReply) && info != nullptr && info->has(kNames);
}

Header ReadFields(const std::byte* in) {
  Header h;
  h.version = LoadLittle<uint16_t>(in + kAtVersion);
  h.command = static_cast<Command>(LoadLittle<uint16_t>(in + kAtCommand));
  h.flags = LoadLittle<uint32_t>(in + kAtFlags);
  h.status = LoadLittle<uint16_t>(in + kAtStatus);
  h.request_id = LoadLittle<uint64_t>(in + kAtRequestId);
  h.cluster_id = LoadLittle<uint64_t>(in + kAtClusterId);
  h.client_hi = LoadLittle<uint64_t>(in + kAtClientHi);
  h.client_lo = LoadLittle<uint64_t>(in + kAtClientLo);
  h.incarnation = LoadLittle<uint64_t>(in + kAtIncarnation);
  h.sequence = LoadLittle<uint64_t>(in + kAtSequence);
  h.settled_below = LoadLittle<uint64_t>(in + kAtSettledBelow);
  h.step = LoadLittle<uint64_t>(in + kAtStep);
  h.first_step = LoadLittle<uint64_t>(in + kAtFirstStep);
  h.cursor = LoadLittle<uint64_t>(in + kAtCursor);
  h.epoch = LoadLittle<uint32_t>(in + kAtEpoch);
  h.table = LoadLittle<uint32_t>(in + kAtTable);
  h.count = LoadLittle<uint32_t>(in + kAtCount);
  h.width = LoadLittle<uint32_t>(in + kAtWidth);
  h.timeout_ms = LoadLittle<uint32_t>(in + kAtTimeoutMs);
  h.group = LoadLittle<uint32_t>(in + kAtGroup);
  h.rank = LoadLittle<uint16_t>(in + kAtRank);
  h.world = LoadLittle<uint16_t>(in + kAtWorld);
  h.ack = LoadLittle<uint8_t>(in + kAtAck);
  h.frames = LoadLittle<uint8_t>(in + kAtFrames);
  h.body_bytes = LoadLittle<uint32_t>(in + kAtBodyBytes);
  h.cut = LoadLittle<uint32_t>(in + kAtCut);
  h.body_checksum = LoadLittle<uint64_t>(in + kAtBodyChecksum);
  h.credit = LoadLittle<uint32_t>(in + kAtCredit);
  if (h.version < 2) return h;
  (BearsName(h) ? h.name_check : h.boot_nonce) = LoadLittle<uint32_t>(in + kAtNameCheck);
  h.trace = LoadLittle<uint32_t>(in + kAtTrace);
  return h;
}

Status CheckFrameCount(const Header& h) {
  const CommandInfo& info = InfoOf(h.command);
  int least = info.request_frames_min;
  int most = info.request_frames_max;
  if (h.is(kFlagReply)) {
    least = h.status == 0 ? info.reply_frames_min : 1;
    most = h.status == 0 ? info.reply_frames_max : 1;
  }
  if (h.frames < least || h.frames > most) {
    return Invalid(fmt::format("{} {}: expected {} to {} payload frames, found {}", info.name,
                               h.is(kFlagReply) ? "reply" : "request", least, most, h.frames));
  }
  return {};
}

}  // namespace

std::array<std::byte, kHeaderBytes> EncodeHeader(const Header& h) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::byte* const out = bytes.data();
  StoreLittle(kMagic, out + kAtMagic);
  StoreLittle(h.version, out + kAtVersion);
  StoreLittle(static_cast<uint16_t>(h.command), out + kAtCommand);
  StoreLittle(h.flags, out + kAtFlags);
  StoreLittle(h.status, out + kAtStatus);
  StoreLittle(h.request_id, out + kAtRequestId);
  StoreLittle(h.cluster_id, out + kAtClusterId);
  StoreLittle(h.client_hi, out + kAtClientHi);
  StoreLittle(h.client_lo, out + kAtClientLo);
  StoreLittle(h.incarnation, out + kAtIncarnation);
  StoreLittle(h.sequence, out + kAtSequence);
  StoreLittle(h.settled_below, out + kAtSettledBelow);
  StoreLittle(h.step, out + kAtStep);
  StoreLittle(h.first_step, out + kAtFirstStep);
  StoreLittle(h.cursor, out + kAtCursor);
  StoreLittle(h.epoch, out + kAtEpoch);
  StoreLittle(h.table, out + kAtTable);
  StoreLittle(h.count, out + kAtCount);
  StoreLittle(h.width, out + kAtWidth);
  StoreLittle(h.timeout_ms, out + kAtTimeoutMs);
  StoreLittle(h.group, out + kAtGroup);
  StoreLittle(h.rank, out + kAtRank);
  StoreLittle(h.world, out + kAtWorld);
  StoreLittle(h.ack, out + kAtAck);
  StoreLittle(h.frames, out + kAtFrames);
  StoreLittle(h.body_bytes, out + kAtBodyBytes);
  StoreLittle(h.cut, out + kAtCut);
  StoreLittle(h.body_checksum, out + kAtBodyChecksum);
  StoreLittle(h.credit, out + kAtCredit);
  if (h.version >= 2) {
    StoreLittle(BearsName(h) ? h.name_check : h.boot_nonce, out + kAtNameCheck);
    StoreLittle(h.trace, out + kAtTrace);
  }
  StoreLittle(Crc32c(std::span(bytes).first(kAtCrc)), out + kAtCrc);
  return bytes;
}

Result<Header> DecodeHeader(std::span<const std::byte> bytes) {
  STRATA_TRY(CheckFrozenPart(bytes));
  const auto version = LoadLittle<uint16_t>(bytes.data() + kAtVersion);
  if (version < kVersionMin || version > kVersion) {
    return Refused(
        fmt::format("protocol version {} is not spoken here, which speaks {} to {}; "
                    "install matching versions of Strata",
                    version, kVersionMin, kVersion));
  }
  STRATA_TRY(CheckReserved(bytes, version));
  const Header header = ReadFields(bytes.data());
  STRATA_TRY(CheckMeaning(header));
  return header;
}

std::optional<Header> PeekHeader(std::span<const std::byte> bytes) {
  if (!CheckFrozenPart(bytes).ok()) return std::nullopt;
  const Header all = ReadFields(bytes.data());
  Header header;
  header.version = std::clamp(all.version, kVersionMin, kVersion);
  header.command = all.command;
  header.flags = all.flags & kFlagReply;
  header.request_id = all.request_id;
  header.cluster_id = all.cluster_id;
  return header;
}

Message Seal(Header header, Message payload) {
  const size_t body = MessageBytes(payload);
  STRATA_CHECK(payload.size() <= kFramesMax && body + kHeaderBytes <= kMessageBytesMax);
  header.frames = static_cast<uint8_t>(payload.size());
  header.body_bytes = static_cast<uint32_t>(body);
  header.body_checksum = ChecksumOf(payload);
  payload.insert(payload.begin(), Frame::Copy(EncodeHeader(header)));
  return payload;
}

Result<Received> Open(Message message, bool is_checked) {
  if (message.empty()) return Invalid("message: expected a header frame, found no frame");
  STRATA_ASSIGN(const Header header, DecodeHeader(message.front().bytes()));
  if (message.size() - 1 != header.frames) {
    return Invalid(fmt::format("message: the header says {} payload frames, {} came", header.frames,
                               message.size() - 1));
  }
  STRATA_TRY(CheckFrameCount(header));
  message.erase(message.begin());
  const size_t body = MessageBytes(message);
  if (body != header.body_bytes) {
    return Invalid(
        fmt::format("message: the header says {} payload bytes, {} came", header.body_bytes, body));
  }
  if (body + kHeaderBytes > kMessageBytesMax) {
    return Invalid(fmt::format("message: {} bytes, at most {} are allowed", body + kHeaderBytes,
                               kMessageBytesMax));
  }
  if (is_checked) return Received{header, std::move(message)};
  const uint64_t checksum = ChecksumOf(message);
  if (checksum != header.body_checksum) {
    return Corrupt(fmt::format("message: payload checksum says {:#x}, bytes give {:#x}",
                               header.body_checksum, checksum));
  }
  return Received{header, std::move(message)};
}

}  // namespace strata::wire
