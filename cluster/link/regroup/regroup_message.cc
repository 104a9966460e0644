#include "cluster/link/regroup/regroup_message.h"

#include <fmt/format.h>

#include <optional>

#include "cluster/link/connect/frame.h"

namespace strata::link_internal {
namespace {

constexpr size_t kFixedBytes = 1 + 1 + 8 + 8 + 8 + 4;
constexpr size_t kMemberBytesMin = 8 + 2 + 2;
constexpr LinkHeader kQuestionHeader{.type = LinkFrameType::kRegroup};

void PutText(std::string* out, std::string_view text) {
  PutLittle(out, static_cast<uint16_t>(text.size()));
  out->append(text);
}

std::optional<std::string> TakeText(std::string_view* from) {
  if (from->size() < sizeof(uint16_t)) return std::nullopt;
  const size_t bytes = TakeLittle<uint16_t>(from);
  if (from->size() < bytes) return std::nullopt;
  std::string text(from->substr(0, bytes));
  from->remove_prefix(bytes);
  return text;
}

Status Short() { return Corrupt("a message between ranks that regroup ends too early"); }

}  // namespace

std::string EncodeRegroup(const RegroupMessage& message) {
  std::string body;
  PutLittle(&body, static_cast<uint8_t>(message.word));
  PutLittle(&body, static_cast<uint8_t>(message.replacements));
  PutLittle(&body, message.generation);
  PutLittle(&body, message.process);
  PutLittle(&body, message.ballot);
  PutLittle(&body, static_cast<uint32_t>(message.members.size()));
  for (const Member& member : message.members) {
    PutLittle(&body, member.process);
    PutLittle(&body, member.machine.port);
    PutText(&body, member.machine.host);
  }
  PutText(&body, std::string_view(message.note).substr(0, UINT16_MAX));
  return body;
}

Result<RegroupMessage> DecodeRegroup(std::string_view body) {
  if (body.size() < kFixedBytes) return Short();
  RegroupMessage message;
  const auto word = TakeLittle<uint8_t>(&body);
  const auto replacements = TakeLittle<uint8_t>(&body);
  if (word < static_cast<uint8_t>(RegroupWord::kPoll) ||
      word > static_cast<uint8_t>(RegroupWord::kChosen) || replacements > 1) {
    return Corrupt(fmt::format("unknown word {} between ranks that regroup", word));
  }
  message.word = static_cast<RegroupWord>(word);
  message.replacements = replacements == 1;
  message.generation = TakeLittle<uint64_t>(&body);
  message.process = TakeLittle<uint64_t>(&body);
  message.ballot = TakeLittle<uint64_t>(&body);
  const size_t members = TakeLittle<uint32_t>(&body);
  if (members > body.size() / kMemberBytesMin) return Short();
  for (size_t rank = 0; rank < members; ++rank) {
    if (body.size() < kMemberBytesMin) return Short();
    Member member;
    member.process = TakeLittle<uint64_t>(&body);
    member.machine.port = TakeLittle<uint16_t>(&body);
    auto host = TakeText(&body);
    if (!host.has_value()) return Short();
    member.machine.host = std::move(*host);
    member.machine.rank = static_cast<int>(rank);
    message.members.push_back(std::move(member));
  }
  auto note = TakeText(&body);
  if (!note.has_value()) return Short();
  message.note = std::move(*note);
  if (!body.empty()) return Corrupt("a message between ranks that regroup goes on too long");
  return message;
}

RegroupMessage AnswerOfGroup(const LinkOptions& group, const RegroupMessage& question) {
  RegroupMessage answer;
  answer.generation = group.generation;
  answer.word = RegroupWord::kBusy;
  if (question.generation >= group.generation) return answer;
  answer.word = RegroupWord::kChosen;
  for (size_t rank = 0; rank < group.workers.size(); ++rank) {
    answer.members.push_back({.machine = group.workers[rank], .process = group.processes[rank]});
  }
  return answer;
}

asio::awaitable<Result<RegroupMessage>> AskRegroup(Connection& connection,
                                                   const RegroupMessage& question) {
  const std::string body = EncodeRegroup(question);
  Status written = co_await WriteFrame(connection, kQuestionHeader, body);
  if (!written.ok()) co_return written;
  Result<LinkFrame> reply = co_await ReadFrame(connection, kRegroupBytesMax);
  if (!reply.ok()) co_return reply.status();
  if (reply->header.type != LinkFrameType::kReply) co_return Corrupt("it answers out of turn");
  if (reply->header.operation != 0) {
    co_return Status(CodeFromWire(reply->header.operation), reply->body);
  }
  co_return DecodeRegroup(reply->body);
}

asio::awaitable<Status> AnswerRegroup(Connection& connection, const RegroupReply& reply) {
  Result<LinkFrame> frame = co_await ReadFrame(connection, kRegroupBytesMax);
  if (!frame.ok()) co_return frame.status();
  if (frame->header.type != LinkFrameType::kRegroup) co_return Corrupt("it asks nothing");
  Result<RegroupMessage> question = DecodeRegroup(frame->body);
  if (!question.ok()) co_return question.status();
  Result<RegroupMessage> answer = reply(*question);
  const LinkHeader header{.type = LinkFrameType::kReply,
                          .operation = static_cast<uint64_t>(answer.status().code())};
  const std::string body = answer.ok() ? EncodeRegroup(*answer) : answer.status().message();
  co_return co_await WriteFrame(connection, header, body);
}

}  // namespace strata::link_internal
