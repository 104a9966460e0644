#include "cluster/schedule/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <utility>

namespace strata {
namespace {

constexpr int kAnyRanks = std::numeric_limits<int>::max();
constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();
constexpr int kErrorsMax = 10;

const std::vector<ChoiceRule>& BuiltIn() {
  using enum Collective;
  static const std::vector<ChoiceRule> rules = {
      {kAllreduce, kAnyRanks, 32 << 10, Algorithm::kDoubling},
      {kAllreduce, kAnyRanks, kAnyBytes, Algorithm::kCirculant},
      {kAllgather, kAnyRanks, kAnyBytes, Algorithm::kBruck},
      {kReduceScatter, kAnyRanks, kAnyBytes, Algorithm::kCirculant},
      {kBroadcast, 4, 16 << 10, Algorithm::kPipelined},
      {kBroadcast, 3, kAnyBytes, Algorithm::kBinomial},
      {kBroadcast, kAnyRanks, 64 << 10, Algorithm::kBinomial},
      {kBroadcast, 8, kAnyBytes, Algorithm::kPipelined},
      {kBroadcast, kAnyRanks, kAnyBytes, Algorithm::kScatterAllgather},
      {kReduce, 4, kAnyBytes, Algorithm::kBinomial},
      {kReduce, 8, 1 << 20, Algorithm::kBinomial},
      {kReduce, kAnyRanks, 32 << 10, Algorithm::kBinomial},
      {kReduce, kAnyRanks, kAnyBytes, Algorithm::kRabenseifner},
      {kAllToAll, 3, kAnyBytes, Algorithm::kPairwise},
      {kAllToAll, kAnyRanks, 4 << 10, Algorithm::kBruck},
      {kAllToAll, kAnyRanks, kAnyBytes, Algorithm::kPairwise},
  };
  return rules;
}

template <typename Number>
bool ReadBound(std::string_view word, Number any, Number* bound) {
  if (word == "*") {
    *bound = any;
    return true;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *bound);
  return error == std::errc() && end == word.data() + word.size();
}

template <typename Number>
std::string Bound(Number bound, Number any) {
  return bound == any ? "*" : fmt::format("{}", bound);
}

// "allreduce, allgather, ..."
template <typename Things, typename NameOf>
std::string Names(const Things& things, NameOf name_of) {
  std::string names;
  for (const auto thing : things) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(thing));
  }
  return names;
}

Result<Collective> ReadOperation(std::string_view name) {
  if (const auto named = CollectiveNamed(name); named.has_value()) return *named;
  return Invalid(fmt::format("unknown operation '{}'; there are {}", name,
                             Names(kCollectives, CollectiveName)));
}

Result<Algorithm> ReadAlgorithm(Collective operation, std::string_view name) {
  const auto named = AlgorithmNamed(name);
  if (named.has_value() && Has(operation, *named)) return *named;
  return Invalid(fmt::format("no algorithm '{}' of {}; there are {}", name,
                             CollectiveName(operation),
                             Names(AlgorithmsOf(operation), AlgorithmName)));
}

// A rule, or what is wrong with the line.
Result<ChoiceRule> ReadRule(const std::string& line) {
  std::istringstream words(line);
  std::string operation;
  std::string ranks;
  std::string bytes;
  std::string algorithm;
  std::string rest;
  words >> operation >> ranks >> bytes >> algorithm;
  if (algorithm.empty() || words >> rest) {
    return Invalid(fmt::format("expected `operation ranks bytes algorithm`, found '{}'", line));
  }
  ChoiceRule rule{};
  STRATA_ASSIGN(rule.operation, ReadOperation(operation));
  if (!ReadBound(ranks, kAnyRanks, &rule.ranks_max) || rule.ranks_max < 1) {
    return Invalid(fmt::format("ranks: expected a number from 1 on or *, found '{}'", ranks));
  }
  if (!ReadBound(bytes, kAnyBytes, &rule.bytes_max)) {
    return Invalid(fmt::format("bytes: expected a number or *, found '{}'", bytes));
  }
  STRATA_ASSIGN(rule.algorithm, ReadAlgorithm(rule.operation, algorithm));
  return rule;
}

}  // namespace

ChoiceTable::ChoiceTable() : rules_(BuiltIn()), source_("built-in") {}

ChoiceTable::ChoiceTable(std::vector<ChoiceRule> rules, std::string source)
    : rules_(std::move(rules)), source_(std::move(source)) {}

Result<ChoiceTable> ChoiceTable::Parse(std::string_view text, const std::string& file) {
  std::vector<ChoiceRule> rules;
  std::string errors;
  int bad = 0;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto rule = ReadRule(line);
    if (rule.ok()) {
      rules.push_back(*rule);
    } else if (++bad <= kErrorsMax) {
      errors += fmt::format("{}{}:{}: {}", errors.empty() ? "" : "\n", file, number,
                            rule.status().message());
    }
  }
  if (bad > 0) return Invalid(errors);
  if (rules.empty()) {
    return Invalid(fmt::format(
        "{}: expected lines `operation ranks bytes algorithm`, found none: write the table with "
        "strata-bench collective --tune, or leave collective.choices out",
        file));
  }
  return ChoiceTable(std::move(rules), file);
}

std::string ChoiceTable::Text() const {
  std::string text = "# operation ranks-at-most bytes-at-most algorithm; the first that fits\n";
  for (const ChoiceRule& rule : rules_) {
    text += fmt::format("{} {} {} {}\n", CollectiveName(rule.operation),
                        Bound(rule.ranks_max, kAnyRanks), Bound(rule.bytes_max, kAnyBytes),
                        AlgorithmName(rule.algorithm));
  }
  return text;
}

Result<ChoiceTable> ChoiceTable::Preferring(std::string_view choices,
                                            const std::string& origin) const {
  ChoiceTable table = *this;
  std::vector<ChoiceRule> rules;
  std::istringstream parts{std::string(choices)};
  std::string part;
  while (std::getline(parts, part, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      return Invalid(fmt::format(
          "{}: expected operation=algorithm, such as allreduce=ring, found '{}'", origin, part));
    }
    const auto operation = ReadOperation(part.substr(0, equals));
    if (!operation.ok()) return operation.status().Prefixed(origin);
    if (std::ranges::find(rules, *operation, &ChoiceRule::operation) != rules.end()) {
      return Invalid(fmt::format("{}: {} twice; keep one", origin, CollectiveName(*operation)));
    }
    const auto algorithm = ReadAlgorithm(*operation, part.substr(equals + 1));
    if (!algorithm.ok()) return algorithm.status().Prefixed(origin);
    rules.push_back({.operation = *operation,
                     .ranks_max = kAnyRanks,
                     .bytes_max = kAnyBytes,
                     .algorithm = *algorithm});
  }
  table.rules_.insert(table.rules_.begin(), rules.begin(), rules.end());
  table.preferred_ = rules.size();
  table.preferred_source_ = origin;
  return table;
}

const ChoiceRule* ChoiceTable::Find(Collective operation, int world, uint64_t bytes) const {
  for (const ChoiceRule& rule : rules_) {
    if (rule.operation == operation && world <= rule.ranks_max && bytes <= rule.bytes_max) {
      return &rule;
    }
  }
  return nullptr;
}

Algorithm ChoiceTable::Choose(Collective operation, int world, uint64_t bytes) const {
  const ChoiceRule* const rule = Find(operation, world, bytes);
  return rule != nullptr ? rule->algorithm : AlgorithmsOf(operation).back();
}

ChosenAlgorithm ChoiceTable::Explain(Collective operation, int world, uint64_t bytes) const {
  const ChoiceRule* const rule = Find(operation, world, bytes);
  if (rule == nullptr) {
    return {AlgorithmsOf(operation).back(),
            fmt::format("{} table: no rule fits, so the one that does well at any size", source_)};
  }
  const auto number = static_cast<size_t>(rule - rules_.data());
  if (number < preferred_) return {rule->algorithm, preferred_source_ + " says so"};
  return {rule->algorithm, fmt::format("{} table, rule {}: ranks up to {}, bytes up to {}", source_,
                                       number - preferred_ + 1, Bound(rule->ranks_max, kAnyRanks),
                                       Bound(rule->bytes_max, kAnyBytes))};
}

}  // namespace strata
