// GpuCopy: which segments of a collection are in a GPU's memory, too.
//
// They are there in groups, a GpuSets each, as a search of a group takes one call, however many
// segments it has. Whoever holds the collection says which segments are wanted; ItemGpu's thread
// brings them there, those of equal token numbers together. A group is made anew with others, from
// the documents in host memory, when it is no larger than what has come, or when more than a
// quarter of its documents are in segments that are gone: so there are few groups, and each
// document is copied few times.
//
// What does not fit stays out until memory is given back or other segments are wanted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/mutex.h"
#include "base/thread/work_pool.h"
#include "kernels/setops/gpu_sets.h"
#include "storage/itemset/item_gpu.h"
#include "storage/itemset/segment.h"

namespace strata {

struct GpuCopyStats {
  size_t segments = 0;  // that are wanted and there
  size_t bytes = 0;     // that groups take
  size_t groups = 0;
  size_t lacking = 0;  // segments that are wanted and not there
};

// Which groups are to be made anew with documents that have come, by number, ascending. `gone`:
// documents of the group in segments that are not wanted any more.
struct GroupSize {
  size_t documents = 0;
  size_t gone = 0;
};
std::vector<size_t> GroupsToRenew(std::span<const GroupSize> groups, size_t come);

// Thread-safe.
class GpuCopy {
 public:
  // A segment under its number, which no other one of the collection has.
  using Segments = std::map<uint64_t, std::shared_ptr<const Segment>>;

  class Group {
   public:
    Group(ItemGpu& gpu, uint64_t bytes) : gpu_(gpu), bytes_(bytes) {}
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    std::map<uint64_t, uint32_t> blocks;  // of `sets`, by segment
    std::vector<size_t> words;            // SetBlock::words(), by block
    std::shared_ptr<const TokenNumbers> numbers;
    size_t documents = 0;
    std::unique_ptr<GpuSets> sets;

    ItemGpu& gpu() const { return gpu_; }
    uint64_t bytes() const { return bytes_; }

   private:
    ItemGpu& gpu_;
    const uint64_t bytes_;  // of the memory for segments
  };

  explicit GpuCopy(ItemGpu& gpu) : gpu_(gpu) {}
  ~GpuCopy();

  // These are to be there from now on, as far as they fit, and no others.
  void Want(Segments segments);
  // What is there. A group may have segments that are not wanted any more; each wanted one is in
  // one group at most.
  std::vector<std::shared_ptr<Group>> Look() const;
  GpuCopyStats Stats() const;
  ItemGpu& gpu() const { return gpu_; }
  // Returns when what is wanted is there, as far as it fits. For tests.
  void WaitUntilPlaced() const { gpu_.WaitUntilPlaced(this); }

 private:
  friend class ItemGpu;

  void Place(WorkPool& pool);
  void PlaceKind(const std::shared_ptr<const TokenNumbers>& numbers, const Segments& wanted,
                 WorkPool& pool);
  void DropGone(const Segments& wanted);
  std::shared_ptr<Group> Build(const Segments& segments, WorkPool& pool);
  // In place of `old` ones; null: nothing.
  void Publish(std::span<const std::shared_ptr<Group>> old, std::shared_ptr<Group> made);

  ItemGpu& gpu_;
  mutable Mutex mutex_;
  Segments wanted_ STRATA_GUARDED_BY(mutex_);
  // Changed by ItemGpu's thread alone.
  std::vector<std::shared_ptr<Group>> groups_ STRATA_GUARDED_BY(mutex_);
};

// A group as one search sees it: the GpuSets of the segments that it finds there, in its own order.
class GroupSearch final : public GpuSets {
 public:
  explicit GroupSearch(std::shared_ptr<GpuCopy::Group> group) : group_(std::move(group)) {}

  // Another block that is searched; of the group, by its number.
  void Add(uint32_t block) { blocks_.push_back(block); }

  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const GpuSearchMeans& means) override;
  bool scans() const override { return group_->sets->scans(); }
  Counts counts() const override { return {}; }
  size_t bytes() const override { return group_->sets->bytes(); }

 private:
  const std::shared_ptr<GpuCopy::Group> group_;
  std::vector<uint32_t> blocks_;
};

}  // namespace strata
