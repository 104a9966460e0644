// SEARCH: the best documents of a collection for each query, found on the thread that searches, so
// that the lane goes on meanwhile. What that thread finds waiting, it answers together.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/human_text.h"
#include "ps/commands/collections.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/search_explanation.h"

namespace strata {
namespace {

// What is found takes up to four times as much, in all forms that it goes through. Clients ask for
// replies of 4 MiB.
size_t ReplyBytesMax(const LaneState& lane) {
  constexpr size_t kLeast = size_t{4} << 20;
  return std::clamp(lane.config.queue_bytes_max / 4, kLeast,
                    wire::kMessageBytesMax - wire::kHeaderBytes);
}

// The answers to a search, as its reply has them.
struct Found {
  Status status = {};
  std::vector<uint64_t> offsets = {0};
  std::vector<wire::SearchHit> hits = {};
};

// What a batch looks for, and what was found.
struct Batch {
  std::vector<WaitingSearch> searches;
  size_t hits_max = 0;
  std::vector<Found> found;           // by search
  std::vector<SearchReport> reports;  // of the first queries that were searched at once
  size_t reported = 0;                // how many they are
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

// How large the reply can be is known before the search, but for those without a limit.
size_t AnswerBytes(const wire::SearchTerms& terms, uint32_t queries) {
  const size_t known = terms.k == wire::SearchTerms::kAll ? 0 : terms.k;
  return (size_t{queries} + 1) * sizeof(uint64_t) + size_t{queries} * known * wire::kSearchHitBytes;
}

Status CheckAnswerFits(const wire::SearchTerms& terms, uint32_t queries, size_t bytes_max) {
  if (AnswerBytes(terms, queries) <= bytes_max) return {};
  return Invalid(
      fmt::format("{} best of {} queries may exceed the {} bytes of a reply; ask for "
                  "fewer, or search in several requests",
                  terms.k == wire::SearchTerms::kAll ? 0 : terms.k, queries, bytes_max));
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
  STRATA_TRY(CheckAnswerFits(terms, request.header.count, ReplyBytesMax(lane)));
  STRATA_ASSIGN(search.queries,
                wire::DecodeQueries(request.payload[1], request.payload[2], request.header.count));
  for (size_t i = 1; i < search.queries.offsets.size(); ++i) {
    const uint64_t tokens = search.queries.offsets[i] - search.queries.offsets[i - 1];
    if (tokens <= ItemSetSpec::kMostTokens) continue;
    return Invalid(fmt::format("query {} of the request has {} tokens; at most {} are taken", i - 1,
                               tokens, ItemSetSpec::kMostTokens));
  }
  search.servers = terms.servers;
  search.answer_bytes = AnswerBytes(terms, request.header.count);
  const auto& [name, attributes, copies] = search.collection->definition();
  if (search.servers > 1 && (search.servers > copies || lane.collections.copies == nullptr)) {
    return Refused(fmt::format(
        "server {} lane {} keeps no copies of other servers' documents of "
        "collection '{}' for a search of {}",
        lane.config.name.server, lane.config.name.lane, name, Counted(search.servers, "server")));
  }
  search.bytes = MessageBytes(request.payload) + wire::kHeaderBytes + sizeof(WaitingSearch) +
                 kParkedExtraBytes;
  return search;
}

// Queries of the batch's searches from `first` to `end` - 1, some at a time.
class QueryWalk {
 public:
  QueryWalk(Batch& batch, size_t first, size_t end) : batch_(batch), search_(first), end_(end) {}

  // The next ones, and whose answers they get.
  void Next(SetLists* queries, std::vector<Found*>* owners) {
    while (search_ < end_ && owners->size() < SearchQueue::kQueriesAtOnce) {
      const auto& [offsets, tokens] = batch_.searches[search_].queries;
      if (query_ + 1 >= offsets.size()) {
        ++search_;
        query_ = 0;
        continue;
      }
      queries->Add(
          std::span(tokens).subspan(offsets[query_], offsets[query_ + 1] - offsets[query_]));
      owners->push_back(&batch_.found[search_]);
      ++query_;
    }
  }
  // The search whose queries are not all done; null: there is none.
  const WaitingSearch* current() const {
    return search_ < end_ ? &batch_.searches[search_] : nullptr;
  }

 private:
  Batch& batch_;
  size_t search_;
  const size_t end_;
  size_t query_ = 0;  // of the search
};

// The searches from `first` to `end` - 1: those that find too much together find it alone.
Status SearchSome(Batch& batch, size_t first, size_t end, const Clock& clock) {
  const WaitingSearch& any = batch.searches.front();
  STRATA_ASSIGN(const wire::SearchTerms terms, wire::DecodeSearchTerms(any.terms.bytes()));
  const ItemFilter filter = FilterOf(terms);
  HitRoom room(batch.hits_max);
  SearchGoal goal = GoalOf(terms);
  if (goal.k == SearchGoal::kAll) goal.room = &room;
  const bool explain = std::ranges::any_of(batch.searches, &WaitingSearch::explain);
  std::vector<const ItemSet*> sets = {&any.collection->set()};
  for (const auto& copy : any.copies) sets.push_back(copy.get());
  for (size_t i = first; i < end; ++i) batch.found[i] = {};
  QueryWalk walk(batch, first, end);
  do {
    SetLists queries;
    std::vector<Found*> owners;
    walk.Next(&queries, &owners);
    const bool reports = explain && batch.reports.empty();
    STRATA_ASSIGN(const auto answers, ItemSet::SearchTogether(sets, queries.view(), goal, filter,
                                                              reports ? &batch.reports : nullptr));
    if (reports) batch.reported = answers.size();
    for (size_t i = 0; i < answers.size(); ++i) {
      Found& found = *owners[i];
      for (const Hit& hit : answers[i]) found.hits.push_back({hit.id, hit.overlap, hit.length});
      found.offsets.push_back(found.hits.size());
    }
    const WaitingSearch* const next = walk.current();
    if (next != nullptr && clock.Now() >= next->deadline) {
      return DeadlineExceeded(
          fmt::format("the search was not done within its {} ms", next->to.request.timeout_ms));
    }
  } while (walk.current() != nullptr);
  return {};
}

// On the thread that searches. Each search has an outcome of its own.
void Search(Batch& batch, const Clock& clock) {
  const TimeNs begin = clock.Now();
  const size_t searches = batch.searches.size();
  const auto some = [&](size_t first, size_t end) {
    return OrOutOfMemory("a search", [&] { return SearchSome(batch, first, end, clock); });
  };
  batch.found.resize(searches);
  const Status together = some(0, searches);
  for (size_t i = 0; i < searches; ++i) {
    Status status = together.ok() || searches == 1 ? together : some(i, i + 1);
    if (!status.ok()) batch.found[i] = {};
    batch.found[i].status = std::move(status);
  }
  batch.took = clock.Now() - begin;
}

// `explanation`: how it was found; none: nobody asked.
void Answer(LaneState& lane, const WaitingSearch& search, const Found& found,
            const std::optional<Frame>& explanation) {
  const ReplyTo& to = search.to;
  const size_t bytes = found.hits.size() * wire::kSearchHitBytes +
                       found.offsets.size() * sizeof(uint64_t) +
                       (explanation ? explanation->size() : 0);
  if (bytes > ReplyBytesMax(lane)) {
    return lane.Reply(
        to, Invalid(fmt::format("{} documents are alike enough, {} bytes, and a reply holds {}; "
                                "ask for more similar ones, or for the best K, or search with "
                                "fewer queries at a time",
                                found.hits.size(), bytes, ReplyBytesMax(lane))));
  }
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.width = search.collection->definition().copies;
  Message payload = {wire::EncodeOffsets(found.offsets), wire::EncodeHits(found.hits)};
  if (explanation) payload.push_back(*explanation);
  lane.ReplyWith(to.peer, header, std::move(payload));
}

void Finish(LaneState& lane, Batch& batch) {
  size_t queries = 0;
  for (size_t i = 0; i < batch.searches.size(); ++i) {
    const WaitingSearch& search = batch.searches[i];
    queries += search.to.request.count;
    const Found found = std::exchange(batch.found[i], {});
    if (!found.status.ok()) {
      lane.Reply(search.to, found.status);
      continue;
    }
    ForRequest(lane, search.to, [&] {
      std::optional<Frame> explanation;
      if (search.explain) {
        explanation = wire::EncodeExplanation(ExplanationOf(
            batch.reports, static_cast<uint32_t>(batch.reported), search.waited, batch.took));
      }
      Answer(lane, search, found, explanation);
    });
  }
  const auto took = static_cast<uint64_t>(batch.took);
  const WaitingSearch& first = batch.searches.front();
  first.collection->CountSearch(queries, took, first.servers > 1);
  lane.metrics.searched_queries.Add(queries);
  lane.metrics.search_batches.Add();
  lane.searches.End(queries, batch.took);
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
    const Status status = of->sets.status();
    if (status.ok()) {
      search.copies = *of->sets;
      lane.searches.AddBack(std::move(search));
    } else {
      lane.searches.LetGo(search);
      lane.Reply(to, status);
    }
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
    batch->hits_max = ReplyBytesMax(lane) / wire::kSearchHitBytes;
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
