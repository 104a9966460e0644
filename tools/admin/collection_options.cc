#include "tools/admin/collection_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "tools/admin/parse_whole.h"
#include "tools/admin/set_files.h"

namespace strata::admin {
namespace {

constexpr size_t kMostK = 1'000'000;
constexpr double kMostThreshold = 1e9;  // of an overlap; other scores end at 1

// "price:10..20", "price:10..", "price:..20", "price:15"
Result<CollectionRequest::Range> ParseRange(const std::string& text) {
  CollectionRequest::Range range;
  const size_t colon = text.find(':');
  const size_t dots = text.find("..", colon == std::string::npos ? 0 : colon);
  const Status bad = Invalid(fmt::format(
      "--where: expected NAME:NUMBER or NAME:LOW..HIGH, whole numbers, LOW or HIGH may be "
      "left out, found '{}'",
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

Status ReadGoal(const CollectionWords& words, SearchGoal* goal) {
  const auto metric = SetMetricNamed(words.metric);
  if (!metric) {
    return Invalid(
        fmt::format("--metric: expected one of {}; found '{}'", MetricNames(), words.metric));
  }
  goal->metric = *metric;
  if (!words.threshold.empty()) {
    double threshold = 0;
    if (!ParseWhole(words.threshold, &threshold) || !std::isfinite(threshold) || threshold <= 0 ||
        threshold > kMostThreshold) {
      return Invalid(
          fmt::format("--threshold: expected a score above 0, found '{}'", words.threshold));
    }
    goal->at_least = SimilarityOf(*metric, threshold);
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

std::string MetricNames() {
  std::vector<std::string_view> names;
  for (int metric = 0; metric < kSetMetrics; ++metric) {
    names.push_back(NameOf(static_cast<SetMetric>(metric)));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Status ReadCollectionOptions(const CollectionWords& words, CollectionRequest* request) {
  if (!ParseWhole(words.first_id, &request->first_id)) {
    return Invalid(fmt::format("--first-id: expected a whole number from 0 to 2^64 - 1, found '{}'",
                               words.first_id));
  }
  STRATA_ASSIGN(request->ack, ParseAckLevel(words.ack));
  STRATA_TRY(ReadIds("ID", words.ids, &request->ids));
  STRATA_TRY(ReadIds("--like", words.like, &request->like));
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
