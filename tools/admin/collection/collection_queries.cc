#include "tools/admin/collection/collection_queries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/file/disk.h"
#include "tools/admin/collection/stored_documents.h"
#include "tools/admin/tables/store.h"

namespace strata::admin {
namespace {

using Answers = std::vector<std::vector<Hit>>;

constexpr size_t kQueriesOfACall = 64;  // --timeout is for one call
constexpr size_t kMostQueries = 10'000'000;

// All but those of stored documents.
Result<std::vector<CollectionQuery>> ReadQueries(const CollectionRequest& request) {
  std::vector<CollectionQuery> queries;
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
                 std::vector<CollectionQuery>* queries) {
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

// Batch by batch. A document whose tokens are a query is not in its own answer: one more is asked
// for, in its place.
Result<Answers> FindAnswers(Collections& collections, const CollectionRequest& request,
                            const ItemFilter& filter, const std::vector<CollectionQuery>& queries,
                            std::vector<LaneExplanation>* explained) {
  const size_t k = request.goal.k;
  SearchGoal goal = request.goal;
  if (!request.like.empty() && k != SearchGoal::kAll) ++goal.k;
  Answers answers;
  for (size_t at = 0; at < queries.size(); at += kQueriesOfACall) {
    SetLists some;
    const size_t end = std::min(at + kQueriesOfACall, queries.size());
    for (size_t i = at; i < end; ++i) some.Add(queries[i].tokens);
    STRATA_ASSIGN(Answers found, collections.SearchExplained(request.name, some.view(), goal,
                                                             filter, kNever, explained));
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

}  // namespace

Result<CollectionAnswers> AskCollection(const Request& request, bool explain) {
  const CollectionRequest& search = request.collection;
  CollectionAnswers answers;
  STRATA_ASSIGN(answers.queries, ReadQueries(search));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  Collections collections(*store);
  STRATA_ASSIGN(const CollectionSpec spec, FindCollection(collections, search.name));
  STRATA_ASSIGN(const ItemFilter filter, ReadFilter(spec, search));
  STRATA_TRY(AddStored(collections, search, &answers.queries));
  const TimeNs begin = RealClock().Now();
  STRATA_ASSIGN(answers.hits, FindAnswers(collections, search, filter, answers.queries,
                                          explain ? &answers.explained : nullptr));
  answers.ms = static_cast<double>(RealClock().Now() - begin) / kMillisecond;
  return answers;
}

}  // namespace strata::admin
