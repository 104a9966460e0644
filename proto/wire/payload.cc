#include <fmt/format.h>

#include <cstring>

#include "proto/wire/bytes.h"
#include "proto/wire/commands.h"

namespace strata::wire {
namespace {

constexpr size_t kErrorTextMax = 4096;
static_assert(std::endian::native == std::endian::little,
              "keys and rows are copied as they lie; a big-endian host must swap them here");

template <typename T>
std::vector<T> CopyOut(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// At most kErrorTextMax bytes, cut between UTF-8 characters.
std::string_view Shortened(std::string_view text) {
  if (text.size() <= kErrorTextMax) return text;
  size_t end = kErrorTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

Frame EncodeStats(const StatsReply& stats) {
  ByteWriter writer;
  for (const uint64_t value : {stats.rows, stats.bytes, stats.lookups, stats.lookup_hits,
                               stats.updates, stats.steps, stats.rejected}) {
    writer.Put(value);
  }
  return writer.Take();
}

Result<StatsReply> DecodeStats(std::span<const std::byte> bytes) {
  constexpr size_t kBytes = 7 * sizeof(uint64_t);
  if (bytes.size() != kBytes) {
    return Invalid(fmt::format("table stats: expected {} bytes, found {}", kBytes, bytes.size()));
  }
  ByteReader reader(bytes);
  StatsReply stats;
  for (uint64_t* value : {&stats.rows, &stats.bytes, &stats.lookups, &stats.lookup_hits,
                          &stats.updates, &stats.steps, &stats.rejected}) {
    *value = reader.Get<uint64_t>();
  }
  return stats;
}

Result<std::vector<uint64_t>> ReadKeys(const Frame& frame, uint32_t count) {
  if (frame.size() != size_t{count} * sizeof(uint64_t)) {
    return Invalid(fmt::format("keys frame: {} keys are {} bytes, found {}", count,
                               size_t{count} * sizeof(uint64_t), frame.size()));
  }
  return CopyOut<uint64_t>(frame.bytes());
}

Status CheckRows(const Frame& frame, uint32_t count, uint32_t width) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(size_t{count} * sizeof(float), size_t{width}, &bytes) ||
      frame.size() != bytes) {
    return Invalid(fmt::format("rows frame: expected {} rows of {} floats, found {} bytes", count,
                               width, frame.size()));
  }
  return {};
}

Result<std::vector<float>> ReadRows(const Frame& frame, uint32_t count, uint32_t width) {
  STRATA_TRY(CheckRows(frame, count, width));
  return CopyOut<float>(frame.bytes());
}

Header ReplyHeader(const Header& request, uint64_t incarnation) {
  Header header = request;
  header.flags = (request.flags & ~static_cast<uint32_t>(kFlagDone)) | kFlagReply;
  header.status = 0;
  header.incarnation = incarnation;
  header.name_check = 0;
  return header;
}

Message MakeReply(const Header& request, uint64_t incarnation, const Status& status,
                  Message payload) {
  Header header = ReplyHeader(request, incarnation);
  if (!status.ok()) {
    header.status = static_cast<uint16_t>(status.code());
    payload = {Frame::Copy(std::as_bytes(std::span(Shortened(status.message()))))};
  }
  return Seal(header, std::move(payload));
}

Status StatusOfReply(const Received& reply) {
  if (reply.header.status == 0) return {};
  const std::span<const std::byte> bytes =
      reply.payload.empty() ? std::span<const std::byte>{} : reply.payload.front().bytes();
  std::string text(reinterpret_cast<const char*>(bytes.data()),
                   std::min(bytes.size(), kErrorTextMax));
  const auto code = static_cast<StatusCode>(reply.header.status);
  if (StatusCodeName(code) == "UNKNOWN") {
    return Failed(
        fmt::format("status {} (unknown to this version): {}", reply.header.status, text));
  }
  return Status(code, std::move(text));
}

}  // namespace strata::wire
