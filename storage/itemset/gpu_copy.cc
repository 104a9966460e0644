#include "storage/itemset/gpu_copy.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "kernels/setops/gpu_bytes.h"

namespace strata {
namespace {

using Segments = GpuCopy::Segments;

// Of a block, about; what more is not placed.
constexpr uint64_t kTokensMost = uint64_t{1} << 31;

size_t DocumentsOf(const Segments& segments) {
  size_t documents = 0;
  for (const auto& [number, segment] : segments) documents += segment->size();
  return documents;
}

}  // namespace

std::vector<size_t> GroupsToRenew(std::span<const GroupSize> groups, size_t come) {
  std::vector<size_t> renewed;
  std::vector<size_t> others;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].gone * 4 > groups[i].documents) {
      renewed.push_back(i);
      come += groups[i].documents - groups[i].gone;
    } else {
      others.push_back(i);
    }
  }
  if (come == 0) return renewed;
  std::ranges::sort(others, {}, [&](size_t i) { return groups[i].documents; });
  for (const size_t i : others) {
    if (groups[i].documents > come) break;
    renewed.push_back(i);
    come += groups[i].documents - groups[i].gone;
  }
  std::ranges::sort(renewed);
  return renewed;
}

GpuCopy::Group::~Group() {
  const bool had_any = sets != nullptr;
  sets.reset();
  gpu_.GiveBack(bytes_);
  if (had_any) gpu_.PlaceLacking();
}

GpuCopy::~GpuCopy() { gpu_.Forget(this); }

void GpuCopy::Want(Segments segments) {
  {
    const MutexLock lock(mutex_);
    wanted_ = std::move(segments);
  }
  gpu_.NoteChanged(this);
}

std::vector<std::shared_ptr<GpuCopy::Group>> GpuCopy::Look() const {
  const MutexLock lock(mutex_);
  return groups_;
}

GpuCopyStats GpuCopy::Stats() const {
  const MutexLock lock(mutex_);
  GpuCopyStats stats{.groups = groups_.size()};
  for (const auto& group : groups_) {
    stats.bytes += group->bytes();
    for (const auto& [number, block] : group->blocks) stats.segments += wanted_.contains(number);
  }
  stats.lacking = wanted_.size() - stats.segments;
  return stats;
}

void GpuCopy::Publish(std::span<const std::shared_ptr<Group>> old, std::shared_ptr<Group> made) {
  const MutexLock lock(mutex_);
  std::erase_if(groups_,
                [&](const auto& group) { return std::ranges::find(old, group) != old.end(); });
  if (made != nullptr) groups_.push_back(std::move(made));
}

// Null: it does not fit.
std::shared_ptr<GpuCopy::Group> GpuCopy::Build(const Segments& segments, WorkPool& pool) {
  std::vector<const SetBlock*> blocks;
  for (const auto& [number, segment] : segments) blocks.push_back(&segment->block());
  const GpuBytes bytes = GpuBytesOf(blocks);
  if (!gpu_.Take(bytes.all())) return nullptr;
  auto group = std::make_shared<Group>(gpu_, bytes.kept);
  auto opened = gpu_.Open(*SourceOf(blocks).value(), pool);
  gpu_.GiveBack(bytes.passing);
  if (!opened.ok()) return nullptr;
  group->sets = std::move(*opened);
  uint32_t block = 0;
  for (const auto& [number, segment] : segments) group->blocks[number] = block++;
  for (const SetBlock* of : blocks) group->words.push_back(of->words());
  group->numbers = segments.begin()->second->numbers();
  group->documents = DocumentsOf(segments);
  return group;
}

void GpuCopy::DropGone(const Segments& wanted) {
  std::vector<std::shared_ptr<Group>> gone = Look();
  std::erase_if(gone, [&](const auto& group) {
    return std::ranges::any_of(group->blocks,
                               [&](const auto& entry) { return wanted.contains(entry.first); });
  });
  Publish(gone, nullptr);
}

void GpuCopy::PlaceKind(const std::shared_ptr<const TokenNumbers>& numbers, const Segments& wanted,
                        WorkPool& pool) {
  std::vector<std::shared_ptr<Group>> groups = Look();
  std::erase_if(groups, [&](const auto& group) { return group->numbers != numbers; });
  Segments come;
  for (const auto& [number, segment] : wanted) {
    if (segment->numbers() != numbers || segment->block().tokens() >= kTokensMost) continue;
    if (std::ranges::none_of(
            groups, [&, of = number](const auto& group) { return group->blocks.contains(of); })) {
      come.emplace(number, segment);
    }
  }
  std::vector<GroupSize> sizes;
  for (const auto& group : groups) {
    GroupSize size{.documents = group->documents, .gone = group->documents};
    for (const auto& [number, block] : group->blocks) {
      if (const auto found = wanted.find(number); found != wanted.end()) {
        size.gone -= found->second->size();
      }
    }
    sizes.push_back(size);
  }
  Segments all = come;
  std::vector<std::shared_ptr<Group>> renewed;
  bool has_thin = false;
  for (const size_t i : GroupsToRenew(sizes, DocumentsOf(come))) {
    renewed.push_back(groups[i]);
    has_thin |= sizes[i].gone * 4 > sizes[i].documents;
    for (const auto& [number, block] : groups[i]->blocks) {
      if (const auto found = wanted.find(number); found != wanted.end()) all.insert(*found);
    }
  }
  groups.clear();
  if (all.empty()) return;
  if (auto made = Build(all, pool); made != nullptr) return Publish(renewed, std::move(made));
  // Not beside the old ones. Where documents that are gone hold memory, those go first; searches go
  // to the CPU meanwhile.
  if (has_thin) {
    Publish(renewed, nullptr);
    renewed.clear();
    come = std::move(all);
  }
  // As many as there is room for, the largest first.
  std::vector<uint64_t> left;
  for (const auto& [number, segment] : come) left.push_back(number);
  std::ranges::sort(left, [&](uint64_t a, uint64_t b) {
    return come.at(a)->block().tokens() > come.at(b)->block().tokens();
  });
  for (size_t count = left.size(); count > 0;) {
    Segments some;
    for (size_t i = 0; i < count; ++i) some.emplace(left[i], come.at(left[i]));
    auto made = Build(some, pool);
    if (made == nullptr) {
      count /= 2;
      continue;
    }
    Publish({}, std::move(made));
    left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(count));
    count = std::min(count, left.size());
  }
}

void GpuCopy::Place(WorkPool& pool) {
  Segments wanted;
  {
    const MutexLock lock(mutex_);
    wanted = wanted_;
  }
  DropGone(wanted);
  std::set<std::shared_ptr<const TokenNumbers>> kinds;
  for (const auto& [number, segment] : wanted) kinds.insert(segment->numbers());
  for (const auto& numbers : kinds) PlaceKind(numbers, wanted, pool);
  if (Stats().lacking > 0) gpu_.NoteLacking(this);
}

Result<std::vector<std::vector<Hit>>> GroupSearch::Search(const SetList& queries,
                                                          const SearchGoal& goal,
                                                          const GpuSearchMeans& means) {
  // Of a segment that is gone no document is an answer.
  static constexpr uint64_t kNone[SetBlock::kMostDocuments / 64] = {};
  GpuSearchMeans how = means;
  std::vector<std::span<const uint64_t>> allowed;
  if (!means.allowed.empty() || blocks_.size() < group_->blocks.size()) {
    for (const size_t words : group_->words) allowed.push_back(std::span(kNone).first(words));
    for (size_t i = 0; i < blocks_.size(); ++i) {
      allowed[blocks_[i]] = means.allowed.empty() ? std::span<const uint64_t>() : means.allowed[i];
    }
    how.allowed = allowed;
  }
  auto found = group_->sets->Search(queries, goal, how);
  group_->gpu().CheckSearch(found.status());
  return found;
}

}  // namespace strata
