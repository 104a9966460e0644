// strata-admin collection search: queries from the command line or from files; answers as a table,
// as a JSON object a query, or in the form of the contest that the problem comes from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/disk.h"
#include "base/human_text.h"
#include "ps/client/collections.h"
#include "tools/admin/commands.h"
#include "tools/admin/json_line.h"
#include "tools/admin/set_files.h"
#include "tools/admin/store.h"
#include "tools/admin/stored_documents.h"
#include "tools/admin/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;
using Answers = std::vector<std::vector<Hit>>;

constexpr size_t kQueriesOfACall = 64;  // --timeout is for one call
constexpr size_t kMostQueries = 10'000'000;

struct Query {
  TokenSet tokens;
  std::string file = {};                // of a folder; "": from elsewhere
  std::optional<DocumentId> like = {};  // the document whose tokens they are
};

// All but those of stored documents.
Result<std::vector<Query>> ReadQueries(const CollectionRequest& request) {
  std::vector<Query> queries;
  for (const TokenSet& tokens : request.queries) queries.push_back({.tokens = tokens});
  if (!request.file.empty()) {
    STRATA_ASSIGN(const auto reader, OpenSets(RealDisk(), request.file, request.offsets));
    std::vector<TokenSet> sets;
    STRATA_TRY(reader->Next(kMostQueries, &sets));
    if (sets.empty()) return Invalid(fmt::format("{}: expected queries, found none", request.file));
    const std::span<const std::string> files = reader->files();
    for (size_t i = 0; i < sets.size(); ++i) {
      queries.push_back(
          {.tokens = std::move(sets[i]), .file = files.empty() ? std::string() : files[i]});
    }
  }
  if (queries.empty() && request.like.empty()) {
    return Invalid(
        "there is nothing to search for: give --query 1,2,3, --like ID or --queries FILE");
  }
  return queries;
}

Status AddStored(Collections& collections, const CollectionRequest& request,
                 std::vector<Query>* queries) {
  if (request.like.empty()) return {};
  STRATA_ASSIGN(const std::vector<Document> found,
                FindDocuments(collections, request.name, request.like));
  STRATA_TRY(CheckAllFound(request.name, request.like, found).Prefixed("--like"));
  for (const DocumentId id : request.like) {
    const auto document = std::ranges::lower_bound(found, id, {}, &Document::id);
    queries->push_back({.tokens = document->tokens, .like = id});
  }
  return {};
}

Result<ItemFilter> ReadFilter(const CollectionSpec& spec, const CollectionRequest& request) {
  ItemFilter filter;
  for (const CollectionRequest::Range& range : request.where) {
    const auto name = std::ranges::find(spec.attributes, range.attribute);
    if (name == spec.attributes.end()) {
      return Invalid(fmt::format(
          "--where: collection '{}' has no attribute '{}'; it has {}", request.name,
          range.attribute,
          spec.attributes.empty() ? "none" : fmt::format("{}", fmt::join(spec.attributes, ", "))));
    }
    const auto number = static_cast<size_t>(name - spec.attributes.begin());
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

// Batch by batch. A document whose tokens are a query is not in its own answer: one more is asked
// for, in its place.
Result<Answers> FindAnswers(Collections& collections, const CollectionRequest& request,
                            const ItemFilter& filter, const std::vector<Query>& queries) {
  const size_t k = request.goal.k;
  SearchGoal goal = request.goal;
  if (!request.like.empty() && k != SearchGoal::kAll) ++goal.k;
  Answers answers;
  for (size_t at = 0; at < queries.size(); at += kQueriesOfACall) {
    SetLists some;
    const size_t end = std::min(at + kQueriesOfACall, queries.size());
    for (size_t i = at; i < end; ++i) some.Add(queries[i].tokens);
    STRATA_ASSIGN(Answers found, collections.Search(request.name, some.view(), goal, filter));
    for (size_t i = at; i < end; ++i) {
      std::vector<Hit>& hits = answers.emplace_back(std::move(found[i - at]));
      if (queries[i].like) {
        std::erase_if(hits, [&](const Hit& hit) { return hit.id == *queries[i].like; });
      }
      if (hits.size() > k) hits.resize(k);
    }
  }
  return answers;
}

std::string AsJson(const Answers& answers, const std::vector<Query>& queries, const SetList& sets,
                   SetMetric metric) {
  std::string lines;
  for (size_t i = 0; i < answers.size(); ++i) {
    Json line = {{"query", i}};
    if (!queries[i].file.empty()) line["file"] = queries[i].file;
    if (queries[i].like) line["like"] = *queries[i].like;
    Json& hits = line["hits"] = Json::array();
    for (const Hit& hit : answers[i]) {
      hits.push_back({{"id", hit.id},
                      {"score", ScoreOfHit(hit, metric, sets[i].size())},
                      {"overlap", hit.overlap},
                      {"tokens", hit.length}});
    }
    lines += JsonLine(line);
  }
  return lines;
}

// Where queries have names there is a column of them. One that found nothing has a line, too.
std::string AsText(const Answers& answers, const std::vector<Query>& queries, const SetList& sets,
                   SetMetric metric) {
  using enum TableText::Align;
  const auto name = [](const Query& query) {
    return query.like ? fmt::format("like {}", *query.like) : query.file;
  };
  const bool named =
      std::ranges::any_of(queries, [&](const Query& query) { return !name(query).empty(); });
  std::vector<TableText::Column> columns = {{"query", kRight}};
  if (named) columns.push_back({"from"});
  columns.insert(
      columns.end(),
      {{"document", kRight}, {"score", kRight}, {"in common", kRight}, {"its tokens", kRight}});
  TableText text(std::move(columns));
  const auto add = [&](size_t i, std::vector<std::string> cells) {
    if (named) cells.insert(cells.begin(), name(queries[i]));
    cells.insert(cells.begin(), fmt::to_string(i));
    text.AddRow(std::move(cells));
  };
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].empty()) add(i, {"-", "-", "-", "-"});
    for (const Hit& hit : answers[i]) {
      add(i,
          {fmt::to_string(hit.id), fmt::format("{:.6g}", ScoreOfHit(hit, metric, sets[i].size())),
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
  STRATA_ASSIGN(std::vector<Query> queries, ReadQueries(search));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  Collections collections(*store);
  STRATA_ASSIGN(const CollectionSpec spec, FindCollection(collections, search.name));
  STRATA_ASSIGN(const ItemFilter filter, ReadFilter(spec, search));
  STRATA_TRY(AddStored(collections, search, &queries));
  const TimeNs begin = RealClock().Now();
  STRATA_ASSIGN(const Answers answers, FindAnswers(collections, search, filter, queries));
  const double ms = static_cast<double>(RealClock().Now() - begin) / kMillisecond;
  SetLists sets;
  for (const Query& query : queries) sets.Add(query.tokens);
  if (!search.to.empty()) {
    STRATA_TRY(WriteContestFile(search.to, ms, answers));
    *out = request.output == Request::Output::kJson
               ? JsonLine({{"queries", queries.size()}, {"milliseconds", ms}, {"file", search.to}})
               : fmt::format("queries answered: {} in {:.1f} ms, see {}\n",
                             HumanCount(queries.size()), ms, search.to);
  } else if (request.output == Request::Output::kJson) {
    *out = AsJson(answers, queries, sets.view(), search.goal.metric);
  } else {
    *out = AsText(answers, queries, sets.view(), search.goal.metric);
  }
  return {};
}

}  // namespace strata::admin
