#include "tools/admin/collection/collection_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/settings/settings_value.h"
#include "ps/client/collections.h"
#include "storage/itemset/set_files.h"
#include "strata/document.h"
#include "tools/admin/text/parse_whole.h"

namespace strata::admin {
namespace {

constexpr size_t kMostK = 1'000'000;

// "price:10..20", "price:10..", "price:..20", "price:15"
Result<CollectionRequest::Range> ParseRange(const std::string& text) {
  CollectionRequest::Range range;
  const size_t colon = text.find(':');
  const size_t dots = text.find("..", colon == std::string::npos ? 0 : colon);
  const Status bad = Invalid(fmt::format(
      "--where: expected NAME:NUMBER or NAME:LOW..HIGH, whole numbers from -2^63 to 2^63 - 1, LOW "
      "or HIGH may be left out, found '{}'",
      text));
  if (colon == std::string::npos || colon == 0) return bad;
  range.attribute = text.substr(0, colon);
  if (dots == std::string::npos) {
    if (!ParseWhole(text.substr(colon + 1), &range.low)) return bad;
    range.high = range.low;
    return range;
  }
  const std::string low = text.substr(colon + 1, dots - colon - 1);
  const std::string high = text.substr(dots + 2);
  if (low.empty() && high.empty()) return bad;
  if (!low.empty() && !ParseWhole(low, &range.low)) return bad;
  if (!high.empty() && !ParseWhole(high, &range.high)) return bad;
  if (range.low <= range.high) return range;
  return Invalid(
      fmt::format("--where: {} is above {} in '{}', which no document is in", low, high, text));
}

Status ReadIds(std::string_view what, const std::vector<std::string>& texts,
               std::vector<DocumentId>* ids) {
  for (const std::string& text : texts) {
    DocumentId id = 0;
    if (!ParseWhole(text, &id)) {
      return Invalid(
          fmt::format("{}: expected a document's id, a whole number from 0 to 2^64 - 1, found '{}'",
                      what, text));
    }
    ids->push_back(id);
  }
  return {};
}

std::vector<std::string_view> NamesOfMetrics() {
  std::vector<std::string_view> names;
  for (int metric = 0; metric < kSetMetrics; ++metric) {
    names.push_back(NameOf(static_cast<SetMetric>(metric)));
  }
  return names;
}

// In any case of letters, and with dashes, as people and other programs write them.
Result<SetMetric> ParseMetric(const std::string& text) {
  std::string name = text;
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '-') letter = '_';
  }
  if (const auto metric = SetMetricNamed(name)) return *metric;
  return Invalid(fmt::format("--metric: expected one of {}; found '{}'{}", MetricNames(), text,
                             SuggestName(name, NamesOfMetrics())));
}

// Above 0, and no more than a document can have.
Status ReadThreshold(const std::string& text, SearchGoal* goal) {
  const bool counts = goal->metric == SetMetric::kOverlap;
  const double most = counts ? static_cast<double>(ItemSetSpec::kMostTokens) : 1;
  double threshold = 0;
  const bool is_number = ParseWhole(text, &threshold);
  if (is_number && counts && threshold > 0 && threshold != std::floor(threshold)) {
    return Invalid(fmt::format(
        "--threshold: expected a whole number, as {} counts tokens in common; found '{}'",
        NameOf(goal->metric), text));
  }
  if (is_number && threshold >= 1e-9 && threshold <= most) {
    goal->at_least = SimilarityOf(goal->metric, threshold);
    return {};
  }
  return Invalid(fmt::format(
      "--threshold: expected a score {} and at most {}, as {} has them; found '{}'{}",
      counts ? "of 1 or more" : "above 0 (at least 0.000000001)", most, NameOf(goal->metric), text,
      is_number && !counts && threshold > 1 ? "; to count tokens in common give --metric overlap"
                                            : ""));
}

Status ReadGoal(const CollectionWords& words, SearchGoal* goal) {
  STRATA_ASSIGN(goal->metric, ParseMetric(words.metric));
  if (!words.threshold.empty()) {
    STRATA_TRY(ReadThreshold(words.threshold, goal));
    goal->k = SearchGoal::kAll;
  }
  if (words.k.empty()) return {};
  if (!ParseWhole(words.k, &goal->k) || goal->k < 1 || goal->k > kMostK) {
    return Invalid(
        fmt::format("-k: expected a whole number from 1 to {}, found '{}'", kMostK, words.k));
  }
  return {};
}

}  // namespace

std::string MetricNames() { return fmt::format("{}", fmt::join(NamesOfMetrics(), ", ")); }

Status ReadCollectionOptions(const CollectionWords& words, CollectionRequest* request) {
  if (!ParseWhole(words.copies, &request->copies) || request->copies < 1 ||
      request->copies > wire::kCollectionCopiesMax) {
    return Invalid(fmt::format("--copies: expected a whole number from 1 to {}, found '{}'",
                               wire::kCollectionCopiesMax, words.copies));
  }
  if (!words.first_id.empty() && !ParseWhole(words.first_id, &request->first_id)) {
    return Invalid(fmt::format("--first-id: expected a whole number from 0 to 2^64 - 1, found '{}'",
                               words.first_id));
  }
  if (!words.first_id.empty() && !request->ids_file.empty()) {
    return Invalid(
        "--first-id and --ids exclude each other: ids that follow one another, or those of a file");
  }
  STRATA_ASSIGN(request->ack, ParseAckLevel(words.ack));
  STRATA_TRY(ReadIds("ID", words.ids, &request->ids));
  STRATA_TRY(ReadIds("--like", words.like, &request->like));
  if (!request->offsets.empty() && request->file.empty()) {
    return Invalid(
        "--offsets: has no effect without --queries: it says where queries begin in a .npy of one "
        "dimension; leave it out, or give --queries TOKENS.npy");
  }
  for (const std::string& text : words.queries) {
    Result<TokenSet> query = ParseSetLine(text);
    if (!query.ok()) return query.status().Prefixed(fmt::format("--query '{}'", text));
    request->queries.push_back(std::move(*query));
  }
  for (const std::string& text : words.where) {
    STRATA_ASSIGN(CollectionRequest::Range range, ParseRange(text));
    request->where.push_back(std::move(range));
  }
  return ReadGoal(words, &request->goal);
}

}  // namespace strata::admin
