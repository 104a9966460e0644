#include "tests/soak/item_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/thread/thread.h"
#include "kernels/setops/set_metric.h"

namespace strata::soak {
namespace {

constexpr size_t kExamplesMax = 10;
constexpr uint64_t kIds = 400;      // that a client uses
constexpr uint64_t kTokens = 60;    // likewise
constexpr uint64_t kBatchMax = 12;  // documents of a call

}  // namespace

void AddExample(Findings* findings, uint64_t Findings::*count, const std::string& example) {
  ++(findings->*count);
  if (findings->examples.size() < kExamplesMax) findings->examples.push_back(example);
}

ItemClient::ItemClient(uint32_t number, uint64_t seed, bool durable,
                       std::unique_ptr<RemoteStore> store)
    : number_(number),
      durable_(durable),
      random_(seed),
      store_(std::move(store)),
      collections_(*store_) {}

ItemClient::~ItemClient() {
  const MutexLock lock(mutex_);
  stop_ = true;
  changed_.NotifyAll();
}

Status ItemClient::Start() {
  STRATA_ASSIGN(thread_, StartThread(fmt::format("items-{}", number_), [this] { Run(); }));
  return {};
}

void ItemClient::Pause() {
  const MutexLock lock(mutex_);
  pause_ = true;
  while (!is_paused_ && ended_.ok()) changed_.Wait(mutex_);
}

void ItemClient::Resume() {
  const MutexLock lock(mutex_);
  pause_ = false;
  changed_.NotifyAll();
}

Status ItemClient::status() const {
  const MutexLock lock(mutex_);
  return ended_;
}

void ItemClient::Run() {
  MutexLock lock(mutex_);
  while (true) {
    is_paused_ = true;
    changed_.NotifyAll();
    while (!stop_ && pause_) changed_.Wait(mutex_);
    if (stop_) return;
    is_paused_ = false;
    lock.Unlock();
    Status status = Step();
    lock.Lock();
    if (status.ok()) continue;
    ended_ = status.Prefixed(fmt::format("client {}", number_));
    changed_.NotifyAll();
    return;
  }
}

Status ItemClient::Step() {
  const uint64_t dice = random_.Below(10);
  if (dice < 5) return Put();
  if (dice < 8) return Delete();
  return Search();
}

std::vector<Token> ItemClient::SomeTokens() {
  std::set<Token> tokens;
  const uint64_t count = 1 + random_.Below(10);
  while (tokens.size() < count) {
    tokens.insert(static_cast<Token>(number_ * 1000 + random_.Below(kTokens)));
  }
  return {tokens.begin(), tokens.end()};
}

DocumentId ItemClient::SomeId() { return (DocumentId{number_} << 32) + random_.Below(kIds); }

Status ItemClient::Put() {
  std::map<DocumentId, std::vector<Token>> wanted;
  const uint64_t count = 1 + random_.Below(kBatchMax);
  while (wanted.size() < count) wanted[SomeId()] = SomeTokens();
  std::vector<Document> documents;
  for (const auto& [id, tokens] : wanted) {
    documents.push_back({.id = id, .tokens = tokens, .attributes = {}});
    used_.insert(id);
  }
  const AckLevel ack = durable_ && random_.Chance(0.1) ? AckLevel::kSynced : AckLevel::kDefault;
  STRATA_TRY(collections_.Upsert(kItemCollection, documents, ack));
  for (auto& [id, tokens] : wanted) documents_[id] = std::move(tokens);
  ++acked_;
  return {};
}

Status ItemClient::Delete() {
  std::vector<DocumentId> ids;
  const uint64_t count = 1 + random_.Below(kBatchMax);
  while (ids.size() < count) ids.push_back(SomeId());
  STRATA_TRY(collections_.Delete(kItemCollection, ids));
  for (const DocumentId id : ids) documents_.erase(id);
  ++acked_;
  return {};
}

// One document after the other, by fractions.
std::vector<Hit> ItemClient::Expected(const std::vector<Token>& query,
                                      const SearchGoal& goal) const {
  std::vector<Hit> hits;
  for (const auto& [id, tokens] : documents_) {
    std::vector<Token> common;
    std::ranges::set_intersection(query, tokens, std::back_inserter(common));
    if (common.empty()) continue;
    hits.push_back(
        {id, static_cast<uint32_t>(common.size()), static_cast<uint32_t>(tokens.size())});
  }
  const auto score = [&](const Hit& hit) {
    return ScoreOf(goal.metric, Similarity(goal.metric, hit.overlap,
                                           static_cast<uint32_t>(query.size()), hit.length));
  };
  std::ranges::stable_sort(hits, [&](const Hit& a, const Hit& b) { return score(a) > score(b); });
  if (hits.size() > goal.k) hits.resize(goal.k);
  return hits;
}

Status ItemClient::Search() {
  const std::vector<Token> query = SomeTokens();
  SetLists queries;
  queries.Add(query);
  const SearchGoal goal{.metric = random_.Chance(0.5) ? SetMetric::kJaccard : SetMetric::kOverlap,
                        .k = 1 + random_.Below(30),
                        .at_least = {1, 1'000'000}};
  STRATA_ASSIGN(const auto found, collections_.Search(kItemCollection, queries.view(), goal));
  ++searches_;
  const std::vector<Hit> expected = Expected(query, goal);
  if (found[0] == expected) return {};
  const auto ids = [](const std::vector<Hit>& hits) {
    std::vector<DocumentId> all;
    for (const Hit& hit : hits) all.push_back(hit.id);
    return all;
  };
  AddExample(&findings_, &Findings::wrong,
             fmt::format("client {}: search for {} by {}: expected {}, found {}", number_,
                         fmt::join(query, ","), NameOf(goal.metric), fmt::join(ids(expected), ","),
                         fmt::join(ids(found[0]), ",")));
  return {};
}

Status ItemClient::Verify(Findings* findings) {
  const std::vector<DocumentId> ids(used_.begin(), used_.end());
  STRATA_ASSIGN(const std::vector<Document> found, collections_.Get(kItemCollection, ids));
  std::map<DocumentId, std::vector<Token>> there;
  for (const Document& document : found) there[document.id] = document.tokens;
  for (const DocumentId id : ids) {
    const auto is = there.find(id);
    const auto should = documents_.find(id);
    if (should == documents_.end()) {
      if (is == there.end()) continue;
      AddExample(findings, &Findings::doubled,
                 fmt::format("document {} was deleted, and is there", id));
    } else if (is == there.end()) {
      AddExample(findings, &Findings::lost, fmt::format("document {} is not there", id));
    } else if (is->second != should->second) {
      AddExample(findings, &Findings::lost,
                 fmt::format("document {}: expected tokens {}, found {}", id,
                             fmt::join(should->second, ","), fmt::join(is->second, ",")));
    }
  }
  return {};
}

}  // namespace strata::soak
