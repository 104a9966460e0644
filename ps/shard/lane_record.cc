#include "ps/shard/lane_record.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "proto/wire/bytes.h"
#include "proto/wire/command_table.h"
#include "storage/table_spec.h"

namespace strata {
namespace {

constexpr size_t kRestoredBytes = wire::kHeaderBytes + 20;
constexpr size_t kAnswerFixed = wire::kHeaderBytes + sizeof(uint16_t);

Status BadSize(std::string_view what, size_t expected, size_t found) {
  return Corrupt(fmt::format("{}: expected {} bytes, found {}", what, expected, found));
}

// A frame without an owner: the record outlives its use.
Frame View(std::span<const std::byte> bytes) { return Frame(nullptr, bytes); }

// Frame borders are not in the record: only the first frame's size is told by the header.
Result<Message> SplitPayload(const wire::Header& header, std::span<const std::byte> bytes) {
  if (header.frames == 0 && bytes.empty()) return Message{};
  if (header.frames == 1) return Message{View(bytes)};
  const size_t keys = size_t{header.count} * sizeof(uint64_t);
  if (header.frames != 2 || keys > bytes.size()) {
    return Corrupt(fmt::format("a logged write of {} frames, {} keys and {} payload bytes",
                               header.frames, header.count, bytes.size()));
  }
  return Message{View(bytes.first(keys)), View(bytes.subspan(keys))};
}

}  // namespace

void RecordBody::Add(const wire::Header& header) {
  pieces_.emplace_back(headers_.emplace_back(wire::EncodeHeader(header)));
}

void RecordBody::AddWrite(const wire::Header& header, const Message& payload) {
  Add(header);
  for (const Frame& frame : payload) Add(frame.bytes());
}

Result<std::vector<LoggedWrite>> DecodeWrites(std::span<const std::byte> body) {
  std::vector<LoggedWrite> writes;
  while (!body.empty() || writes.empty()) {
    if (body.size() < wire::kHeaderBytes) {
      return BadSize("header of a logged write", wire::kHeaderBytes, body.size());
    }
    LoggedWrite write;
    STRATA_ASSIGN(write.header, wire::DecodeHeader(body.first(wire::kHeaderBytes)));
    body = body.subspan(wire::kHeaderBytes);
    const wire::CommandInfo& info = wire::InfoOf(write.header.command);
    if (!info.has(wire::kWrites) || write.header.is(wire::kFlagReply) ||
        write.header.frames != info.request_frames_min) {
      return Corrupt(
          fmt::format("{} with {} frames is no logged write", info.name, write.header.frames));
    }
    if (write.header.body_bytes > body.size()) {
      return BadSize("payload of a logged write", write.header.body_bytes, body.size());
    }
    STRATA_ASSIGN(write.payload, SplitPayload(write.header, body.first(write.header.body_bytes)));
    body = body.subspan(write.header.body_bytes);
    writes.push_back(std::move(write));
  }
  return writes;
}

std::vector<std::byte> EncodeAnswer(const LoggedAnswer& answer) {
  const std::string& text = answer.answer.message();
  std::vector<std::byte> body(kAnswerFixed + text.size());
  const auto header = wire::EncodeHeader(answer.header);
  std::memcpy(body.data(), header.data(), header.size());
  wire::StoreLittle(static_cast<uint16_t>(answer.answer.code()), body.data() + header.size());
  std::memcpy(body.data() + kAnswerFixed, text.data(), text.size());
  return body;
}

Result<LoggedAnswer> DecodeAnswer(std::span<const std::byte> body) {
  if (body.size() < kAnswerFixed) return BadSize("logged answer", kAnswerFixed, body.size());
  LoggedAnswer answer;
  STRATA_ASSIGN(answer.header, wire::DecodeHeader(body.first(wire::kHeaderBytes)));
  const auto code = wire::LoadLittle<uint16_t>(body.data() + wire::kHeaderBytes);
  if (code == 0) return Corrupt("a logged answer that is no error");
  const auto text = body.subspan(kAnswerFixed);
  answer.answer = Status(static_cast<StatusCode>(code),
                         std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  return answer;
}

std::vector<std::byte> EncodeExpired(const ClientId& client) {
  std::vector<std::byte> body(2 * sizeof(uint64_t));
  wire::StoreLittle(client.hi, body.data());
  wire::StoreLittle(client.lo, body.data() + sizeof(uint64_t));
  return body;
}

Result<ClientId> DecodeExpired(std::span<const std::byte> body) {
  if (body.size() != 2 * sizeof(uint64_t)) {
    return BadSize("expired client", 2 * sizeof(uint64_t), body.size());
  }
  return ClientId{.hi = wire::LoadLittle<uint64_t>(body.data()),
                  .lo = wire::LoadLittle<uint64_t>(body.data() + sizeof(uint64_t))};
}

std::vector<std::byte> EncodeCut(uint32_t number) {
  std::vector<std::byte> body(sizeof number);
  wire::StoreLittle(number, body.data());
  return body;
}

Result<uint32_t> DecodeCut(std::span<const std::byte> body) {
  if (body.size() != sizeof(uint32_t)) return BadSize("cut", sizeof(uint32_t), body.size());
  return wire::LoadLittle<uint32_t>(body.data());
}

std::vector<std::byte> EncodeRestored(const LoggedRestore& restored) {
  std::vector<std::byte> body(kRestoredBytes);
  const auto header = wire::EncodeHeader(restored.header);
  std::memcpy(body.data(), header.data(), header.size());
  std::byte* const at = body.data() + header.size();
  wire::StoreLittle(restored.number, at);
  wire::StoreLittle(restored.digest.high, at + 4);
  wire::StoreLittle(restored.digest.low, at + 12);
  const auto name = std::as_bytes(std::span(restored.table));
  body.insert(body.end(), name.begin(), name.end());
  return body;
}

Result<LoggedRestore> DecodeRestored(std::span<const std::byte> body) {
  if (body.size() < kRestoredBytes) return BadSize("restore", kRestoredBytes, body.size());
  LoggedRestore restored;
  STRATA_ASSIGN(restored.header, wire::DecodeHeader(body.first(wire::kHeaderBytes)));
  const std::byte* const at = body.data() + wire::kHeaderBytes;
  restored.number = wire::LoadLittle<uint32_t>(at);
  restored.digest = {wire::LoadLittle<uint64_t>(at + 4), wire::LoadLittle<uint64_t>(at + 12)};
  const auto name = body.subspan(kRestoredBytes);
  restored.table.assign(reinterpret_cast<const char*>(name.data()), name.size());
  if (!name.empty()) STRATA_TRY(ValidateName("table name", restored.table));
  return restored;
}

}  // namespace strata
