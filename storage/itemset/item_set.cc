#include "storage/itemset/item_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/thread/thread.h"
#include "kernels/setops/merge_answers.h"
#include "storage/itemset/streamed_sets.h"

namespace strata {
namespace {

constexpr uint16_t kTailSlot = 0;
constexpr size_t kSmallSoft = 128;  // segments that wait for a merge, until changes should, too,
constexpr size_t kSmallMost = 256;  // and until they do

}  // namespace

struct ItemSet::SearchedKind {
  std::shared_ptr<const TokenNumbers> numbers;
  std::shared_ptr<GpuCopy::Group> group;  // null: those that are in no GPU's memory
  std::unique_ptr<GroupSearch> on_gpu;    // of the group's segments that are searched
  std::vector<std::shared_ptr<const Segment>> segments;
  std::vector<AllowedBlock> blocks;  // of these segments
  bool is_all = true;
};

ItemSet::ItemSet(const ItemSetOptions& options)
    : options_(options), held_(1), numbers_(std::make_shared<const TokenNumbers>()) {
  if (options.means.items != nullptr) on_gpu_ = std::make_unique<GpuCopy>(*options.means.items);
  tail_ids_.reserve(options.tail);
  locations_.SetIds(kTailSlot, tail_ids_.data());
}

Result<std::unique_ptr<ItemSet>> ItemSet::Make(const ItemSetOptions& options) {
  STRATA_CHECK(options.tail > 0 && options.tail * kFan * kFan <= Segment::kMostDocuments);
  STRATA_CHECK(options.means.pool != nullptr && options.means.clock != nullptr);
  const auto& names = options.spec.attributes;
  if (names.size() > ItemSetSpec::kMostAttributes) {
    return Invalid(fmt::format("a collection has at most {} attributes; found {}",
                               ItemSetSpec::kMostAttributes, names.size()));
  }
  std::set<std::string> known;
  for (const std::string& name : names) {
    if (name.empty()) return Invalid("an attribute has no name");
    if (!known.insert(name).second) {
      return Invalid(fmt::format("there are two attributes '{}'; give one another name", name));
    }
  }
  std::unique_ptr<ItemSet> made(new ItemSet(options));
  ItemSet* const set = made.get();
  STRATA_ASSIGN(made->merger_,
                StartThread(
                    "item-merger", [set] { set->MergeUntilStopped(); }, ThreadPriority::kLow));
  return made;
}

ItemSet::~ItemSet() {
  const MutexLock lock(mutex_);
  stop_ = true;
  changed_.NotifyAll();
}

Status ItemSet::Check(const Document& document) const {
  if (document.attributes.size() != options_.spec.attributes.size()) {
    return Invalid(fmt::format("document {} has {} attributes; the collection has {}", document.id,
                               document.attributes.size(), options_.spec.attributes.size()));
  }
  if (document.tokens.size() > ItemSetSpec::kMostTokens) {
    return Invalid(fmt::format("document {} has {} tokens; at most {} are taken", document.id,
                               document.tokens.size(), ItemSetSpec::kMostTokens));
  }
  return {};
}

bool ItemSet::Lags() const {
  const MutexLock lock(mutex_);
  return SmallSegments() >= kSmallSoft;
}

Status ItemSet::Upsert(Document document, uint64_t change) {
  STRATA_TRY(Check(document));
  auto& tokens = document.tokens;
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  const DocumentId id = document.id;
  auto shared = std::make_shared<const Document>(std::move(document));

  const MutexLock lock(mutex_);
  while (tail_.size() == options_.tail) {
    if (SmallSegments() < kSmallMost) {
      STRATA_TRY(Seal());
    } else {
      changed_.Wait(mutex_);
    }
  }
  if (const auto known = locations_.Find(id)) MarkDead(*known);
  const auto place = static_cast<uint16_t>(tail_.size());
  if (tail_.empty()) tail_first_ = change;
  tail_.push_back(std::move(shared));
  tail_ids_.push_back(id);
  locations_.Put(id, {kTailSlot, place});
  ++tail_version_;
  return {};
}

bool ItemSet::Delete(DocumentId id) {
  const MutexLock lock(mutex_);
  const auto known = locations_.Find(id);
  if (!known) return false;
  locations_.Erase(id);
  MarkDead(*known);
  return true;
}

void ItemSet::MarkDead(Location location) {
  if (location.slot == kTailSlot) {
    tail_[location.place] = nullptr;
    ++tail_version_;
    return;
  }
  Held& held = held_[location.slot];
  if (held.is_shared) {
    held.live = std::make_shared<PlaceBits>(*held.live);
    held.is_shared = false;
  }
  (*held.live)[location.place / 64] &= ~(uint64_t{1} << location.place % 64);
  const bool was_thin = IsThin(held);
  ++held.dead;
  if (!was_thin && IsThin(held)) changed_.NotifyAll();
}

std::optional<uint16_t> ItemSet::FreeSlot() const {
  for (size_t slot = 1; slot < held_.size(); ++slot) {
    if (held_[slot].segment == nullptr) return static_cast<uint16_t>(slot);
  }
  if (held_.size() == Locations::kMostSlots) return std::nullopt;
  return static_cast<uint16_t>(held_.size());
}

// There is a free slot.
uint16_t ItemSet::Hold(std::shared_ptr<const Segment> segment, int level, uint64_t age,
                       uint64_t first_change) {
  const uint16_t slot = *FreeSlot();
  if (slot == held_.size()) held_.emplace_back();
  auto live = std::make_shared<PlaceBits>(AllBits(segment->block()));
  locations_.SetIds(slot, segment->block().ids().data());
  held_[slot] = {.segment = std::move(segment),
                 .live = std::move(live),
                 .level = level,
                 .age = age,
                 .number = ++numbered_,
                 .first_change = first_change};
  return slot;
}

Status ItemSet::Seal() {
  std::vector<std::shared_ptr<const Document>> live;
  for (const auto& document : tail_) {
    if (document != nullptr) live.push_back(document);
  }
  if (!live.empty()) {
    // One is left for a merge, which needs a slot before it frees others.
    if (held_.size() + 1 >= Locations::kMostSlots) {
      return Refused(
          fmt::format("the collection has {} segments, as many as it can; divide its "
                      "documents among more collections",
                      held_.size()));
    }
    auto segment = Segment::Build(live, numbers_);
    const uint16_t slot = Hold(segment, 0, ++ages_, tail_first_);
    const auto ids = segment->block().ids();
    for (size_t place = 0; place < ids.size(); ++place) {
      locations_.Put(ids[place], {slot, static_cast<uint16_t>(place)});
    }
  }
  tail_.clear();
  tail_ids_.clear();
  ++tail_version_;
  changed_.NotifyAll();
  return {};
}

std::optional<Document> ItemSet::Get(DocumentId id) const {
  std::shared_ptr<const Segment> segment;
  uint32_t place = 0;
  {
    const MutexLock lock(mutex_);
    const auto known = locations_.Find(id);
    if (!known) return std::nullopt;
    if (known->slot == kTailSlot) return *tail_[known->place];
    segment = held_[known->slot].segment;
    place = known->place;
  }
  return segment->At(place);
}

DocumentPage ItemSet::Scan(uint64_t cursor, size_t most, size_t bytes_max) const {
  struct Place {
    uint64_t hash = 0;
    std::shared_ptr<const Segment> segment = nullptr;
    uint32_t at = 0;
    std::shared_ptr<const Document> of_tail = nullptr;  // then there is no segment
  };
  std::vector<Place> places;
  {
    const MutexLock lock(mutex_);
    for (const auto& [hash, location] : locations_.From(cursor, most)) {
      if (location.slot == kTailSlot) {
        places.push_back({.hash = hash, .of_tail = tail_[location.place]});
      } else {
        places.push_back({hash, held_[location.slot].segment, location.place, nullptr});
      }
    }
  }
  DocumentPage page;
  page.done = places.size() < most;
  size_t bytes = 0;
  for (const Place& place : places) {
    if (bytes >= bytes_max && !page.documents.empty()) {
      page.done = false;
      break;
    }
    page.documents.push_back(place.segment != nullptr ? place.segment->At(place.at)
                                                      : *place.of_tail);
    const Document& document = page.documents.back();
    bytes += document.tokens.size() * sizeof(Token) + document.attributes.size() * sizeof(int64_t) +
             sizeof(Document);
    page.cursor = place.hash + 1;
  }
  if (page.cursor == 0) page.done = true;  // none, or the last hash that there is
  return page;
}

ItemSet::View ItemSet::Look() const {
  View view;
  const MutexLock lock(mutex_);
  for (Held& held : held_) {
    if (held.segment == nullptr) continue;
    Part part{held.segment, nullptr, held.number};
    if (held.dead > 0) {
      part.live = held.live;
      held.is_shared = true;
    }
    view.parts.push_back(std::move(part));
  }
  for (const auto& document : tail_) {
    if (document != nullptr) view.tail.push_back(document);
  }
  view.tail_version = tail_version_;
  view.numbers = numbers_;
  return view;
}

std::shared_ptr<const Segment> ItemSet::TailSegment(const View& view) const {
  const MutexLock lock(tail_mutex_);
  if (tail_segment_version_ != view.tail_version) {
    tail_segment_ = Segment::Build(view.tail, view.numbers);
    tail_segment_version_ = view.tail_version;
  }
  return tail_segment_;
}

// What is searched of this set; `held` keeps what the blocks of the kinds look into.
void ItemSet::AddKinds(const ItemFilter& filter, std::vector<SearchedKind>& kinds,
                       std::vector<std::shared_ptr<const PlaceBits>>& held) const {
  View view = Look();
  if (!view.tail.empty()) view.parts.push_back({TailSegment(view), nullptr});
  std::vector<std::shared_ptr<GpuCopy::Group>> groups;
  if (on_gpu_ != nullptr) groups = on_gpu_->Look();
  for (const Part& part : view.parts) {
    const auto in = std::ranges::find_if(
        groups, [&](const auto& of) { return of->blocks.contains(part.number); });
    const auto group = in == groups.end() ? nullptr : *in;
    const auto& numbers = part.segment->numbers();
    auto kind = std::ranges::find_if(kinds, [&](const SearchedKind& of) {
      return of.group == group &&
             (of.numbers == numbers || (of.numbers->ChangesNothing() && numbers->ChangesNothing()));
    });
    if (kind == kinds.end()) {
      kind = kinds.emplace(kind);
      kind->numbers = numbers;
      kind->group = group;
      if (group != nullptr) kind->on_gpu = std::make_unique<GroupSearch>(group);
    }
    if (group != nullptr) kind->on_gpu->Add(group->blocks.at(part.number));
    std::shared_ptr<const PlaceBits> allowed = part.live;
    if (!filter.IsAll()) {
      PlaceBits filtered = part.live != nullptr ? *part.live : AllBits(part.segment->block());
      ApplyFilter(filter, *part.segment, filtered);
      allowed = std::make_shared<const PlaceBits>(std::move(filtered));
    }
    kind->segments.push_back(part.segment);
    kind->blocks.push_back({&part.segment->block(), {}});
    if (allowed == nullptr) continue;
    kind->blocks.back().allowed = *allowed;
    kind->is_all = kind->is_all && allowed->empty();
    held.push_back(std::move(allowed));
  }
}

Result<std::vector<std::vector<Hit>>> ItemSet::Search(const SetList& queries,
                                                      const SearchGoal& goal,
                                                      const ItemFilter& filter,
                                                      std::vector<SearchReport>* reports) const {
  const ItemSet* const alone = this;
  return SearchTogether(std::span(&alone, 1), queries, goal, filter, reports);
}

Result<std::vector<std::vector<Hit>>> ItemSet::SearchTogether(std::span<const ItemSet* const> sets,
                                                              const SetList& queries,
                                                              const SearchGoal& goal,
                                                              const ItemFilter& filter,
                                                              std::vector<SearchReport>* reports) {
  const ItemSet& first = *sets.front();
  STRATA_TRY(CheckFilter(filter, first.options_.spec));
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].size() <= ItemSetSpec::kMostTokens) continue;
    return Invalid(fmt::format("query {} has {} tokens; at most {} are taken", i, queries[i].size(),
                               ItemSetSpec::kMostTokens));
  }
  std::vector<SearchedKind> kinds;
  std::vector<std::shared_ptr<const PlaceBits>> held;
  for (const ItemSet* const set : sets) set->AddKinds(filter, kinds, held);

  std::vector<std::vector<std::vector<Hit>>> answers;  // by query, then kind
  answers.resize(queries.size());
  std::vector<uint32_t> lengths(queries.size());
  std::vector<SearchReport> all_reports;
  for (const SearchedKind& kind : kinds) {
    const SetLists numbers = kind.numbers->NumbersOf(queries);
    SearchReport& report = all_reports.emplace_back();
    STRATA_ASSIGN(auto some, first.SearchKind(kind, numbers.view(), goal, report));
    for (size_t i = 0; i < queries.size(); ++i) {
      answers[i].push_back(std::move(some[i]));
      lengths[i] = static_cast<uint32_t>(numbers.view()[i].size());
    }
  }
  first.CountQueries(all_reports, queries.size());
  if (reports != nullptr) std::ranges::move(all_reports, std::back_inserter(*reports));
  std::vector<std::vector<Hit>> merged(queries.size());
  constexpr size_t kMergedAtOnce = 64;  // queries
  first.options_.means.pool->RunPieces(
      queries.size(), kMergedAtOnce, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          merged[i] = answers[i].size() == 1 ? std::move(answers[i][0])
                                             : MergeAnswers(answers[i], goal, lengths[i]);
        }
      });
  return merged;
}

// What no GPU has may pass through its memory.
Result<std::vector<std::vector<Hit>>> ItemSet::SearchKind(const SearchedKind& kind,
                                                          const SetList& numbers,
                                                          const SearchGoal& goal,
                                                          SearchReport& report) const {
  SearchMeans means = options_.means;
  std::optional<StreamedSets> streamed;
  if (kind.on_gpu != nullptr) {
    means.gpu = kind.on_gpu.get();
  } else if (on_gpu_ != nullptr) {
    streamed.emplace(on_gpu_->gpu(), kind.blocks, *means.pool, *means.clock);
    means.gpu_pieces = streamed->pieces();
    if (means.gpu_pieces > 0) means.gpu = &*streamed;
  }
  means.pace = means.gpu_pieces > 0 ? &streamed_pace_ : &pace_;
  return SearchAsPlanned(kind.blocks, kind.is_all, numbers, goal, means, &report);
}

void ItemSet::CountQueries(std::span<const SearchReport> reports, size_t queries) const {
  std::vector<uint8_t> engines(queries);  // a bit for each engine, one more: streamed
  for (const SearchReport& report : reports) {
    for (const SearchPlan::Group& group : report.plan.groups) {
      for (const uint32_t query : group.queries) {
        engines[query] |= static_cast<uint8_t>(1U << static_cast<unsigned>(group.engine));
        if (report.plan.load_pieces > 0) engines[query] |= 1U << kSearchEngines;
      }
    }
  }
  for (size_t engine = 0; engine <= kSearchEngines; ++engine) {
    const auto count =
        std::ranges::count_if(engines, [&](uint8_t bits) { return (bits >> engine & 1U) != 0; });
    (engine < kSearchEngines ? queries_by_.at(engine) : streamed_) += static_cast<uint64_t>(count);
  }
}

ItemSetStats ItemSet::Stats() const {
  ItemSetStats stats;
  std::set<const TokenNumbers*> numbers;
  if (on_gpu_ != nullptr) stats.on_gpu = on_gpu_->Stats();
  for (size_t i = 0; i < kSearchEngines; ++i) stats.queries_by.at(i) = queries_by_.at(i);
  stats.streamed = streamed_;
  const MutexLock lock(mutex_);
  stats.documents = locations_.size();
  stats.merges = merges_;
  stats.bytes = locations_.bytes() + held_.capacity() * sizeof(Held);
  for (const auto& document : tail_) {
    if (document == nullptr) continue;
    stats.bytes += sizeof(Document) + document->tokens.capacity() * sizeof(Token) +
                   document->attributes.capacity() * sizeof(int64_t);
  }
  for (const Held& held : held_) {
    if (held.segment == nullptr) continue;
    ++stats.segments;
    stats.dead += held.dead;
    stats.bytes += held.segment->bytes() + held.live->size() * sizeof(uint64_t);
    const auto& of = held.segment->numbers();
    if (numbers.insert(of.get()).second) stats.bytes += of->bytes();
  }
  return stats;
}

}  // namespace strata
