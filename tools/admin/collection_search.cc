// strata-admin collection search: queries from the command line or from files; answers as a table,
// as a JSON object a query, or in the form of the contest that the problem comes from.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/disk.h"
#include "base/human_text.h"
#include "ps/client/collections.h"
#include "tools/admin/commands.h"
#include "tools/admin/json_line.h"
#include "tools/admin/set_files.h"
#include "tools/admin/store.h"
#include "tools/admin/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;
using Answers = std::vector<std::vector<Hit>>;

constexpr size_t kQueriesOfACall = 64;  // --timeout is for one call
constexpr size_t kMostQueries = 10'000'000;

Result<std::vector<TokenSet>> ReadQueries(const CollectionRequest& request) {
  std::vector<TokenSet> queries = request.queries;
  if (!request.file.empty()) {
    STRATA_ASSIGN(const auto reader, OpenSets(RealDisk(), request.file, request.offsets));
    STRATA_TRY(reader->Next(kMostQueries, &queries));
  }
  if (queries.empty()) {
    return Invalid("there is nothing to search for: give --query 1,2,3 or --queries FILE");
  }
  return queries;
}

Result<ItemFilter> ReadFilter(Collections& collections, const CollectionRequest& request) {
  ItemFilter filter;
  if (request.where.empty()) return filter;
  STRATA_ASSIGN(const std::vector<CollectionSpec> specs, collections.List());
  const auto spec = std::ranges::find(specs, request.name, &CollectionSpec::name);
  if (spec == specs.end()) {
    return NotFound(fmt::format("there is no collection '{}'", request.name));
  }
  for (const CollectionRequest::Range& range : request.where) {
    const auto name = std::ranges::find(spec->attributes, range.attribute);
    if (name == spec->attributes.end()) {
      return Invalid(fmt::format("--where: collection '{}' has no attribute '{}'", request.name,
                                 range.attribute));
    }
    const auto number = static_cast<size_t>(name - spec->attributes.begin());
    filter.ranges.push_back({number, range.low, range.high});
  }
  return filter;
}

double ScoreOfHit(const Hit& hit, SetMetric metric, size_t query_length) {
  return ScoreOf(metric,
                 Similarity(metric, hit.overlap, static_cast<uint32_t>(query_length), hit.length));
}

// The measured milliseconds, then a line for each query: documents' ids, tabs between them.
Status WriteContestFile(const std::string& path, double ms, const Answers& answers) {
  std::string text = fmt::format("{:.3f}\n", ms);
  for (const std::vector<Hit>& of_query : answers) {
    for (size_t i = 0; i < of_query.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : "\t", of_query[i].id);
    }
    text += '\n';
  }
  return WriteFileAtomically(RealDisk(), path, text);
}

std::string AsJson(const Answers& answers, const SetList& queries, SetMetric metric) {
  std::string lines;
  for (size_t i = 0; i < answers.size(); ++i) {
    Json hits = Json::array();
    for (const Hit& hit : answers[i]) {
      hits.push_back({{"id", hit.id},
                      {"score", ScoreOfHit(hit, metric, queries[i].size())},
                      {"overlap", hit.overlap},
                      {"tokens", hit.length}});
    }
    lines += JsonLine({{"query", i}, {"hits", std::move(hits)}});
  }
  return lines;
}

std::string AsText(const Answers& answers, const SetList& queries, SetMetric metric) {
  using enum TableText::Align;
  TableText text({{"query", kRight},
                  {"document", kRight},
                  {"score", kRight},
                  {"in common", kRight},
                  {"its tokens", kRight}});
  for (size_t i = 0; i < answers.size(); ++i) {
    for (const Hit& hit : answers[i]) {
      text.AddRow({fmt::to_string(i), fmt::to_string(hit.id),
                   fmt::format("{:.6g}", ScoreOfHit(hit, metric, queries[i].size())),
                   fmt::to_string(hit.overlap), fmt::to_string(hit.length)});
    }
  }
  return text.ToString();
}

}  // namespace

Status RunCollectionSearch(const Request& request, std::string* out) {
  const CollectionRequest& search = request.collection;
  if (!search.to.empty() && RealDisk().List(search.to).ok()) {
    return Invalid(fmt::format("--to {}: is a folder; expected a file", search.to));
  }
  STRATA_ASSIGN(const std::vector<TokenSet> queries, ReadQueries(search));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  Collections collections(*store);
  STRATA_ASSIGN(const ItemFilter filter, ReadFilter(collections, search));
  SetLists sets;
  for (const TokenSet& query : queries) sets.Add(query);
  Answers answers;
  const TimeNs begin = RealClock().Now();
  for (size_t at = 0; at < queries.size(); at += kQueriesOfACall) {
    SetLists some;
    const size_t end = std::min(at + kQueriesOfACall, queries.size());
    for (size_t i = at; i < end; ++i) some.Add(queries[i]);
    STRATA_ASSIGN(Answers found, collections.Search(search.name, some.view(), search.goal, filter));
    std::ranges::move(found, std::back_inserter(answers));
  }
  const double ms = static_cast<double>(RealClock().Now() - begin) / kMillisecond;
  if (!search.to.empty()) {
    STRATA_TRY(WriteContestFile(search.to, ms, answers));
    *out = request.output == Request::Output::kJson
               ? JsonLine({{"queries", queries.size()}, {"milliseconds", ms}, {"file", search.to}})
               : fmt::format("queries answered: {} in {:.1f} ms, see {}\n",
                             HumanCount(queries.size()), ms, search.to);
  } else if (request.output == Request::Output::kJson) {
    *out = AsJson(answers, sets.view(), search.goal.metric);
  } else {
    *out = AsText(answers, sets.view(), search.goal.metric);
  }
  return {};
}

}  // namespace strata::admin
