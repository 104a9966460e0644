#include "tools/admin/nodes/cost_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/settings/settings.h"
#include "tools/admin/text/parse_whole.h"

namespace strata::admin {
namespace {

// 2^24 messages of all inputs to all ranks still add up in 64 bits.
constexpr uint64_t kBytesMax = uint64_t{64} << 30;

constexpr double kSecondsPerNs = 1e-9;

// The text up to the first `separator`, and what is behind it; both empty without one.
std::pair<std::string_view, std::string_view> Split(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool ParseRank(std::string_view text, int* rank) { return ParseWhole(text, rank) && *rank >= 0; }

bool ParseFactor(std::string_view text, double* factor) {
  return ParseWhole(text, factor) && std::isfinite(*factor) && *factor > 0;
}

Status ReadNsPerByte(std::string_view option, std::string_view text, double* seconds) {
  double ns = 0;
  if (!ParseWhole(text, &ns) || !std::isfinite(ns) || ns < 0) {
    return Invalid(
        fmt::format("{}: expected ns a byte, a number of at least 0, found '{}'", option, text));
  }
  *seconds = ns * kSecondsPerNs;
  return {};
}

Status ReadStragglers(const CostWords& words, std::vector<Straggler>* stragglers) {
  for (const std::string& text : words.late) {
    const auto [rank, duration] = Split(text, ':');
    Straggler late;
    const Result<TimeNs> delay = ParseDuration(duration);
    if (!ParseRank(rank, &late.rank) || !delay.ok()) {
      return Invalid(fmt::format("--late: expected RANK:DURATION (3:10ms), found '{}'", text));
    }
    late.delay_s = static_cast<double>(*delay) * kSecondsPerNs;
    stragglers->push_back(late);
  }
  for (const std::string& text : words.slow_ranks) {
    const auto [rank, factor] = Split(text, ':');
    Straggler slow;
    if (!ParseRank(rank, &slow.rank) || !ParseFactor(factor, &slow.slowdown)) {
      return Invalid(fmt::format("--slow-rank: expected RANK:FACTOR (3:2.5), found '{}'", text));
    }
    stragglers->push_back(slow);
  }
  return {};
}

Status ReadSlowLinks(const CostWords& words, std::vector<SlowLink>* links) {
  for (const std::string& text : words.slow_links) {
    const auto [pair, factor] = Split(text, ':');
    const auto [a, b] = Split(pair, '-');
    SlowLink slow;
    if (!ParseRank(a, &slow.a) || !ParseRank(b, &slow.b) || slow.a == slow.b ||
        !ParseFactor(factor, &slow.slowdown)) {
      return Invalid(
          fmt::format("--slow-link: expected A-B:FACTOR (0-3:10) of two ranks, found '{}'", text));
    }
    links->push_back(slow);
  }
  return {};
}

}  // namespace

Result<CostRequest> ReadCostOptions(const CostWords& words) {
  CostRequest cost;
  if (!words.operation.empty()) {
    cost.operation = CollectiveNamed(words.operation);
    if (!cost.operation) {
      std::string names;
      for (const Collective known : kCollectives)
        names += fmt::format(" {}", CollectiveName(known));
      return Invalid(
          fmt::format("--operation: expected one of{}, found '{}'", names, words.operation));
    }
  }
  for (const std::string& text : words.bytes) {
    const Result<uint64_t> bytes = ParseBytes(text);
    if (!bytes.ok()) return bytes.status().Prefixed("--bytes");
    if (*bytes > kBytesMax) {
      return Invalid(fmt::format("--bytes: expected at most 64GiB, found '{}'", text));
    }
    cost.bytes.push_back(*bytes);
  }
  std::ranges::sort(cost.bytes);
  cost.bytes.erase(std::ranges::unique(cost.bytes).begin(), cost.bytes.end());
  const Result<TimeNs> alpha = ParseDuration(words.alpha);
  if (!alpha.ok()) return alpha.status().Prefixed("--alpha");
  cost.model.alpha_s = static_cast<double>(*alpha) * kSecondsPerNs;
  STRATA_TRY(ReadNsPerByte("--beta", words.beta, &cost.model.beta_s));
  STRATA_TRY(ReadNsPerByte("--gamma", words.gamma, &cost.model.gamma_s));
  STRATA_TRY(ReadStragglers(words, &cost.model.stragglers));
  STRATA_TRY(ReadSlowLinks(words, &cost.model.slow_links));
  return cost;
}

}  // namespace strata::admin
