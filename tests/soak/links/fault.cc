#include "tests/soak/links/fault.h"

#include <fmt/format.h>

#include <regex>

namespace strata::soak {
namespace {

// Two ranks disagree: the one that sees it and the one that it sees.
std::optional<int> SeenBy(const std::string& message) {
  static const std::regex kSeen(R"(rank (\d+) says: )");
  std::smatch match;
  if (!std::regex_search(message, match, kSeen)) return std::nullopt;
  return std::stoi(match[1]);
}

bool BlamesRightly(const Verdict& verdict, int rank, const std::string& message) {
  const std::optional<int> blamed = BlamedRank(message);
  if (!blamed.has_value()) return false;
  if (verdict.culprits.contains(*blamed)) return true;
  return IsDisagreement(verdict.fault) && verdict.culprits.contains(SeenBy(message).value_or(rank));
}

std::string JudgeLeavings(const RankWords& words) {
  if (words.files_left == 0 && words.threads_left == 0 && words.mappings_left == 0) return "";
  return fmt::format("left {} file descriptors, {} threads and {} mappings", words.files_left,
                     words.threads_left, words.mappings_left);
}

}  // namespace

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kKill:
      return "kill";
    case Fault::kStop:
      return "stop";
    case Fault::kCut:
      return "cut";
    case Fault::kReset:
      return "reset";
    case Fault::kOtherOperation:
      return "other operation";
    case Fault::kOtherSize:
      return "other size";
    case Fault::kStranger:
      return "stranger";
    case Fault::kHalfOpen:
      return "half-open";
  }
  return "?";
}

std::optional<int> BlamedRank(const std::string& message) {
  static const std::regex kRank(R"(rank (\d+) \()");
  std::smatch match;
  if (!std::regex_search(message, match, kRank)) return std::nullopt;
  return std::stoi(match[1]);
}

std::string Judge(const Verdict& verdict, int rank, const RankWords& words, TimeNs fault_at) {
  if (words.wrong_results > 0) return fmt::format("{} wrong results", words.wrong_results);
  if (std::string left = JudgeLeavings(words); !left.empty()) return left;
  const std::string message = words.Message();
  if (IsHarmless(verdict.fault)) {
    if (words.code == StatusCode::kOk) return "";
    return fmt::format("has failed: {} {}", StatusCodeName(words.code), message);
  }
  if (words.code == StatusCode::kOk) return "has noticed nothing";
  const TimeNs time = words.ended_at - fault_at;
  if (fault_at == 0 || time < 0) return "has failed before anything was wrong: " + message;
  if (!BlamesRightly(verdict, rank, message)) return "blames another: " + message;
  if (time > verdict.bound) {
    return fmt::format("has taken {:.3f} s, {:.1f} s are promised: {}",
                       static_cast<double>(time) / kSecond,
                       static_cast<double>(verdict.bound) / kSecond, message);
  }
  return "";
}

std::string JudgeRebuilt(const RankWords& words, int rank, int lost, int world) {
  const std::string said =
      fmt::format("{} {}", StatusCodeName(words.rebuilt_code), words.rebuilt_message.data());
  if (rank == lost) {
    const bool out = words.rebuilt_code == StatusCode::kRefused && BlamedRank(said) == rank;
    return out ? "" : "does not know that it is out: " + said;
  }
  if (words.rebuilt_code != StatusCode::kOk) return "has not gone on: " + said;
  if (words.rebuilt_world == world - 1) return "";
  return fmt::format("has gone on in a group of {}, not {}", words.rebuilt_world, world - 1);
}

}  // namespace strata::soak
