// What the ranks of a group that has failed say to each other while they agree on the one that
// follows it: one question and one answer a connection, behind a handshake. Internal to
// cluster/link.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/link/connect/session.h"
#include "cluster/link/links.h"
#include "cluster/link/regroup/ballot.h"
#include "strata/status.h"

namespace strata::link_internal {

// DO NOT CHANGE THESE VALUES: they travel.
enum class RegroupWord : uint8_t {
  // Questions.
  kPoll = 1,     // are you there?
  kPrepare = 2,  // promise `ballot`
  kAccept = 3,   // accept `members` under `ballot`
  kLearn = 4,    // `members` have been chosen
  // Answers.
  kHere = 5,         // a rank of the group, ready to vote; `note`: whom it waits for
  kReplacement = 6,  // a new process at the place of a rank
  kBusy = 7,         // has not come to rebuild the group, or cannot tell yet
  kPromised = 8,     // `members`: what it accepted under the lower `ballot`, if any
  kAccepted = 9,     // also: has learnt it
  kDenied = 10,      // has promised the higher `ballot`
  kChosen = 11,      // the group of `generation` has these `members`
};

struct RegroupMessage {
  RegroupWord word = RegroupWord::kPoll;
  bool replacements = false;  // the asker waits for replacements of who is lost
  uint64_t generation = 0;    // of the sender's group; with kChosen: of the members
  uint64_t process = 0;       // the sender's
  uint64_t ballot = 0;
  std::vector<Member> members;
  std::string note;
};

// Of a group of some thousand ranks with long host names.
constexpr uint64_t kRegroupBytesMax = 4ULL << 20;

std::string EncodeRegroup(const RegroupMessage& message);
// kCorrupt: cut off, too long, or with an unknown word.
Result<RegroupMessage> DecodeRegroup(std::string_view body);

// What a rank of `group` says that has no part in an agreement: who followed the asker's
// generation, or kBusy.
RegroupMessage AnswerOfGroup(const LinkOptions& group, const RegroupMessage& question);

// Asks, and is answered. An error is the other side's, or the connection's.
asio::awaitable<Result<RegroupMessage>> AskRegroup(Connection& connection,
                                                   const RegroupMessage& question);
// Reads a question and answers it.
using RegroupReply = std::function<Result<RegroupMessage>(const RegroupMessage&)>;
asio::awaitable<Status> AnswerRegroup(Connection& connection, const RegroupReply& reply);

}  // namespace strata::link_internal
