// SEARCH: the best documents of a collection for each query, found on the thread that searches, so
// that the lane goes on meanwhile. What that thread finds waiting, it answers together.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/human_text.h"
#include "ps/service/handlers.h"
#include "ps/service/search_explanation.h"

namespace strata {
namespace {

constexpr size_t kReplyBytesMax = wire::kMessageBytesMax - wire::kHeaderBytes;

// What a batch looks for, and what was found.
struct Batch {
  std::vector<WaitingSearch> searches;
  SearchGoal goal;
  ItemFilter filter;
  Result<std::vector<std::vector<Hit>>> found = Internal("not searched");
  std::vector<SearchReport> reports;
  TimeNs took = 0;
};

Status CheckTerms(const wire::SearchTerms& terms, const Collection& collection) {
  if (terms.metric >= kSetMetrics) {
    return Invalid(fmt::format("search terms: expected a metric of 0 to {}, found {}",
                               kSetMetrics - 1, terms.metric));
  }
  const size_t attributes = collection.definition().attributes.size();
  for (const wire::SearchTerms::Range& range : terms.ranges) {
    if (range.attribute < attributes) continue;
    return Invalid(fmt::format("search terms: a range of attribute {}, and collection '{}' has {}",
                               range.attribute, collection.definition().name, attributes));
  }
  return {};
}

SearchGoal GoalOf(const wire::SearchTerms& terms) {
  return {.metric = static_cast<SetMetric>(terms.metric),
          .k = terms.k == wire::SearchTerms::kAll ? SearchGoal::kAll : terms.k,
          .at_least = {terms.least_num, terms.least_den}};
}

ItemFilter FilterOf(wire::SearchTerms terms) {
  ItemFilter filter;
  for (const wire::SearchTerms::Range& range : terms.ranges) {
    filter.ranges.push_back({range.attribute, range.low, range.high});
  }
  filter.has_ids = terms.has_ids;
  filter.ids = {terms.ids_first, std::move(terms.ids)};
  return filter;
}

// How large the replies can be is known before the search, but for those without a limit.
Status CheckAnswerFits(const wire::SearchTerms& terms, uint32_t queries) {
  const size_t fixed = (size_t{queries} + 1) * sizeof(uint64_t);
  if (terms.k == wire::SearchTerms::kAll ||
      fixed + size_t{queries} * terms.k * wire::kSearchHitBytes <= kReplyBytesMax) {
    return {};
  }
  return Invalid(
      fmt::format("{} best of {} queries may exceed the {} bytes of a reply; ask for "
                  "fewer, or search in several requests",
                  terms.k, queries, kReplyBytesMax));
}

Result<WaitingSearch> Look(LaneState& lane, const Request& request) {
  WaitingSearch search{.to = request.reply_to(),
                       .deadline = request.deadline,
                       .arrived = request.now,
                       .explain = request.header.is(wire::kFlagFull)};
  STRATA_ASSIGN(search.collection, lane.FindCollection(request.header));
  search.terms = request.payload[0];
  STRATA_ASSIGN(const wire::SearchTerms terms, wire::DecodeSearchTerms(search.terms.bytes()));
  STRATA_TRY(CheckTerms(terms, *search.collection));
  STRATA_TRY(CheckAnswerFits(terms, request.header.count));
  STRATA_ASSIGN(search.queries,
                wire::DecodeQueries(request.payload[1], request.payload[2], request.header.count));
  for (size_t i = 1; i < search.queries.offsets.size(); ++i) {
    const uint64_t tokens = search.queries.offsets[i] - search.queries.offsets[i - 1];
    if (tokens <= ItemSetSpec::kMostTokens) continue;
    return Invalid(fmt::format("query {} of the request has {} tokens; at most {} are taken", i - 1,
                               tokens, ItemSetSpec::kMostTokens));
  }
  search.servers = terms.servers;
  const auto& [name, attributes, copies] = search.collection->definition();
  if (search.servers > 1 && (search.servers > copies || lane.collections.copies == nullptr)) {
    return Refused(fmt::format(
        "server {} lane {} keeps no copies of other servers' documents of "
        "collection '{}' for a search of {}",
        lane.config.name.server, lane.config.name.lane, name, Counted(search.servers, "server")));
  }
  search.bytes = MessageBytes(request.payload) + sizeof(WaitingSearch) + kParkedExtraBytes;
  return search;
}

// On the thread that searches.
void Search(Batch& batch, const Clock& clock) {
  const TimeNs begin = clock.Now();
  SetLists queries;
  for (const WaitingSearch& search : batch.searches) {
    const auto& [offsets, tokens] = search.queries;
    for (size_t i = 1; i < offsets.size(); ++i) {
      queries.Add(std::span(tokens).subspan(offsets[i - 1], offsets[i] - offsets[i - 1]));
    }
  }
  const bool explain = std::ranges::any_of(batch.searches, &WaitingSearch::explain);
  const WaitingSearch& first = batch.searches.front();
  std::vector<const ItemSet*> sets = {&first.collection->set()};
  for (const auto& copy : first.copies) sets.push_back(copy.get());
  batch.found = ItemSet::SearchTogether(sets, queries.view(), batch.goal, batch.filter,
                                        explain ? &batch.reports : nullptr);
  batch.took = clock.Now() - begin;
}

// `explanation`: how it was found; none: nobody asked.
void Answer(LaneState& lane, const WaitingSearch& search, std::span<const std::vector<Hit>> found,
            const std::optional<Frame>& explanation) {
  const ReplyTo& to = search.to;
  std::vector<uint64_t> offsets = {0};
  std::vector<wire::SearchHit> hits;
  for (const std::vector<Hit>& of_query : found) {
    for (const Hit& hit : of_query) hits.push_back({hit.id, hit.overlap, hit.length});
    offsets.push_back(hits.size());
  }
  const size_t bytes = hits.size() * wire::kSearchHitBytes + offsets.size() * sizeof(uint64_t) +
                       (explanation ? explanation->size() : 0);
  if (bytes > kReplyBytesMax) {
    return lane.Reply(
        to, Invalid(fmt::format("{} documents are alike enough, {} bytes, and a reply holds {}; "
                                "ask for more similar ones, or for the best K, or search with "
                                "fewer queries at a time",
                                hits.size(), bytes, kReplyBytesMax)));
  }
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.width = search.collection->definition().copies;
  Message payload = {wire::EncodeOffsets(offsets), wire::EncodeHits(hits)};
  if (explanation) payload.push_back(*explanation);
  lane.ReplyWith(to.peer, header, std::move(payload));
}

void Finish(LaneState& lane, const Batch& batch) {
  uint32_t all = 0;
  for (const WaitingSearch& search : batch.searches) all += search.to.request.count;
  size_t begin = 0;
  for (const WaitingSearch& search : batch.searches) {
    const size_t queries = search.to.request.count;
    if (batch.found.ok()) {
      std::optional<Frame> explanation;
      if (search.explain) {
        explanation =
            wire::EncodeExplanation(ExplanationOf(batch.reports, all, search.waited, batch.took));
      }
      Answer(lane, search, std::span(*batch.found).subspan(begin, queries), explanation);
    } else {
      lane.Reply(search.to, batch.found.status());
    }
    begin += queries;
  }
  const auto took = static_cast<uint64_t>(batch.took);
  const WaitingSearch& first = batch.searches.front();
  first.collection->CountSearch(begin, took, first.servers > 1);
  lane.metrics.searched_queries.Add(begin);
  lane.metrics.search_batches.Add();
  lane.searches.End(begin, batch.took);
  BeginSearches(lane, lane.config.collections->clock->Now());
}

// Searches of a collection that need copies of so many servers' documents.
struct CaughtUp {
  uint32_t collection = 0;
  uint32_t servers = 0;
  Result<CollectionCopies::Sets> sets = Internal("not asked");
};

void Continue(LaneState& lane, std::vector<WaitingSearch>& searches,
              const std::vector<CaughtUp>& all) {
  for (WaitingSearch& search : searches) {
    const ReplyTo to = search.to;
    const auto of = std::ranges::find_if(all, [&](const CaughtUp& one) {
      return one.collection == to.request.table && one.servers == search.servers;
    });
    Status status = of->sets.status();
    if (status.ok()) {
      search.copies = *of->sets;
      status = lane.Count(Refusal::kQueue, lane.searches.Add(std::move(search)));
    }
    if (!status.ok()) lane.Reply(to, status);
  }
  lane.searches.EndCopies();
}

// All that wait share one question to each lane whose documents they are for.
void BeginCopies(LaneState& lane) {
  auto searches = std::make_shared<std::vector<WaitingSearch>>(lane.searches.BeginCopies());
  if (searches->empty()) return;
  auto all = std::make_shared<std::vector<CaughtUp>>();
  for (const WaitingSearch& search : *searches) {
    const uint32_t collection = search.to.request.table;
    const bool is_there = std::ranges::any_of(*all, [&](const CaughtUp& one) {
      return one.collection == collection && one.servers == search.servers;
    });
    if (!is_there) all->push_back({.collection = collection, .servers = search.servers});
  }
  lane.RunOff(lane.config.collections->follower,
              [searches, all, copies = lane.collections.copies]() -> Finished::Then {
                for (CaughtUp& one : *all) {
                  one.sets = copies->CatchUp(one.collection, one.servers - 1);
                }
                return [searches, all](LaneState& state) {
                  Continue(state, *searches, *all);
                  BeginSearches(state, state.config.collections->clock->Now());
                };
              });
}

}  // namespace

void HandleSearch(LaneState& lane, Request request) {
  if (lane.draining == DrainReason::kEnds) {
    const std::string reason = fmt::format(
        "server {} is shutting down: search again when it is back", lane.config.name.server);
    return lane.Reply(request.reply_to(), lane.config.durable ? Unavailable(reason) : Lost(reason));
  }
  Result<WaitingSearch> search = Look(lane, request);
  if (!search.ok()) return lane.Reply(request.reply_to(), search.status());
  const Status added = search->servers > 1 ? lane.searches.AddForCopies(std::move(*search))
                                           : lane.searches.Add(std::move(*search));
  if (!added.ok()) lane.Reply(request.reply_to(), lane.Count(Refusal::kQueue, added));
}

void BeginSearches(LaneState& lane, TimeNs now) {
  BeginCopies(lane);
  while (true) {
    auto batch = std::make_shared<Batch>();
    batch->searches = lane.searches.Begin();
    if (batch->searches.empty()) return;
    std::erase_if(batch->searches, [&](const WaitingSearch& search) {
      if (now < search.deadline) return false;
      lane.metrics.expired.Add();
      lane.Reply(
          search.to,
          DeadlineExceeded(fmt::format(
              "the search waited longer than its {} ms before server {} lane {} began it",
              search.to.request.timeout_ms, lane.config.name.server, lane.config.name.lane)));
      return true;
    });
    if (batch->searches.empty()) {
      lane.searches.End(0, 0);
      continue;
    }
    for (WaitingSearch& search : batch->searches) search.waited = now - search.arrived;
    // They have been looked at.
    const wire::SearchTerms terms =
        wire::DecodeSearchTerms(batch->searches.front().terms.bytes()).value();
    batch->goal = GoalOf(terms);
    batch->filter = FilterOf(terms);
    return lane.RunOff(lane.config.collections->searcher,
                       [batch, clock = lane.config.collections->clock]() -> Finished::Then {
                         Search(*batch, *clock);
                         return [batch](LaneState& state) { Finish(state, *batch); };
                       });
  }
}

void EndSearches(LaneState& lane, const Status& reason) {
  for (const WaitingSearch& search : lane.searches.TakeAll()) lane.Reply(search.to, reason);
}

}  // namespace strata
