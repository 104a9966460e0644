// Group: ranks that call collectives together. Every rank calls the same collectives in the same
// order with the same sizes; results are identical on all ranks, to the bit, and depend only on the
// ranks' inputs, their number and the algorithm, never on timing.
//
// Typed calls are thin: they name bytes and a reduction. `bytes_` calls take any contiguous
// element. Sizes are 64-bit. Buffers that are passed as one span are worked on in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cluster/collective/engine.h"
#include "cluster/link/exchange/exchange.h"
#include "cluster/link/exchange/reduction.h"
#include "cluster/schedule/choice.h"
#include "strata/status.h"

namespace strata {

struct CallOptions {
  std::optional<Algorithm> algorithm = std::nullopt;  // instead of the table's choice
  TimeNs timeout = 0;                                 // 0: the group's
};

struct GroupOptions {
  TimeNs timeout = 600 * kSecond;  // of a call
  ChoiceTable choices = {};
};

// One thread at a time, groups and their sub-groups together; calls beside the caller's own work:
// async_calls.h. Any failure (a lost rank, a deadline,
// ranks that disagree) ends the group: that call and all later ones return the same error, which
// names the rank. Only arguments that cannot be (a root beyond the ranks, counts that do not fit
// the buffer, an algorithm that the operation does not have) are refused with kInvalid, before
// anything is sent, and the group goes on: when all ranks see them.
class Group {
 public:
  // The exchanger outlives the group.
  explicit Group(Exchanger& exchanger, GroupOptions options = {});
  Group(Group&&) = default;

  int rank() const { return exchanger_->rank(); }
  int world() const { return exchanger_->world(); }

  // ---- Reductions. `data` becomes the element-wise reduction over all ranks.

  template <typename T>
  Status Allreduce(std::span<T> data, ReduceOp op, const CallOptions& options = {}) {
    return Allreduce(std::as_writable_bytes(data), MakeReduction<T>(op), options);
  }
  Status Allreduce(std::span<std::byte> data, const Reduction& reduction,
                   const CallOptions& options = {});

  // Only at the root; elsewhere `data` is used up.
  template <typename T>
  Status Reduce(std::span<T> data, ReduceOp op, int root, const CallOptions& options = {}) {
    return Reduce(std::as_writable_bytes(data), MakeReduction<T>(op), root, options);
  }
  Status Reduce(std::span<std::byte> data, const Reduction& reduction, int root,
                const CallOptions& options = {});

  // Only block rank() of `data`, which is returned; the others are used up. Blocks are nearly
  // equal, or have counts[r] elements for rank r.
  template <typename T>
  Result<std::span<T>> ReduceScatter(std::span<T> data, ReduceOp op,
                                     std::span<const size_t> counts = {},
                                     const CallOptions& options = {}) {
    STRATA_ASSIGN(const auto block, ReduceScatter(std::as_writable_bytes(data),
                                                  MakeReduction<T>(op), counts, options));
    return std::span<T>(reinterpret_cast<T*>(block.data()), block.size() / sizeof(T));
  }
  Result<std::span<std::byte>> ReduceScatter(std::span<std::byte> data, const Reduction& reduction,
                                             std::span<const size_t> counts = {},
                                             const CallOptions& options = {});

  // ---- Without arithmetic. Elements are plain (trivially copyable).

  // all becomes every rank's elements in rank order. In: block rank() of it is filled. Blocks are
  // nearly equal, or have counts[r] elements for rank r.
  template <typename T>
  Status Allgather(std::span<T> all, std::span<const size_t> counts = {},
                   const CallOptions& options = {}) {
    return AllgatherBytes(std::as_writable_bytes(all), sizeof(T), counts, options);
  }
  // all[r] becomes rank r's bytes; only rank r knows beforehand how many.
  Status Allgather(std::span<const std::byte> mine, std::vector<std::vector<std::byte>>* all);

  template <typename T>
  Status Broadcast(std::span<T> data, int root, const CallOptions& options = {}) {
    return BroadcastBytes(std::as_writable_bytes(data), root, options);
  }

  // At the root, all becomes every rank's elements in rank order; elsewhere it is not used. counts
  // as in Allgather, empty: as many as `mine` from each.
  template <typename T>
  Status Gather(std::span<const T> mine, std::span<T> all, int root,
                std::span<const size_t> counts = {}, const CallOptions& options = {}) {
    return GatherBytes(std::as_bytes(mine), std::as_writable_bytes(all), sizeof(T), root, counts,
                       options);
  }
  // The reverse.
  template <typename T>
  Status Scatter(std::span<const T> all, std::span<T> mine, int root,
                 std::span<const size_t> counts = {}, const CallOptions& options = {}) {
    return ScatterBytes(std::as_bytes(all), std::as_writable_bytes(mine), sizeof(T), root, counts,
                        options);
  }

  // Block d of `in` goes to rank d; block s of `out` comes from rank s. All blocks are equal, or
  // `in` has in_counts[d] elements for rank d and `out` out_counts[s] from rank s.
  template <typename T>
  Status AllToAll(std::span<const T> in, std::span<T> out, std::span<const size_t> in_counts = {},
                  std::span<const size_t> out_counts = {}, const CallOptions& options = {}) {
    return AllToAllBytes(std::as_bytes(in), std::as_writable_bytes(out), sizeof(T), in_counts,
                         out_counts, options);
  }

  // Returns once every rank has called it.
  Status Barrier(const CallOptions& options = {});

  // Ends the group with this error here, and with one that names this rank elsewhere: a call under
  // way returns it. Any thread.
  void Cancel(const Status& why) { exchanger_->Cancel(why); }

  // ---- Groups within the group.

  // A group of the ranks that pass the same color, in the order of (key, rank). Uses this group's
  // links, so a failure in it ends this one, too. Lives no longer than this group's exchanger.
  Result<Group> Split(int color, int key);

 private:
  struct Plan {
    Algorithm algorithm;
    const Schedule* schedule;
    ExchangeTag tag;
    TimeNs deadline;
  };

  Status AllgatherBytes(std::span<std::byte> all, size_t element_bytes,
                        std::span<const size_t> counts, const CallOptions& options);
  Status BroadcastBytes(std::span<std::byte> data, int root, const CallOptions& options);
  Status GatherBytes(std::span<const std::byte> mine, std::span<std::byte> all,
                     size_t element_bytes, int root, std::span<const size_t> counts,
                     const CallOptions& options);
  Status ScatterBytes(std::span<const std::byte> all, std::span<std::byte> mine,
                      size_t element_bytes, int root, std::span<const size_t> counts,
                      const CallOptions& options);
  Status AllToAllBytes(std::span<const std::byte> in, std::span<std::byte> out,
                       size_t element_bytes, std::span<const size_t> in_counts,
                       std::span<const size_t> out_counts, const CallOptions& options);

  // What a call does: algorithm, schedule, tag under the next call number, deadline. An error that
  // ended the group before, or kInvalid.
  Result<Plan> Begin(Collective operation, uint64_t bytes, const CallOptions& options,
                     const Reduction* reduction, int root = 0);
  // Of a gather or a scatter: all blocks, this rank's among them, cut by offsets_.
  struct Rooted {
    Plan plan;
    std::span<std::byte> blocks;
    std::span<std::byte> own;
  };
  // The blocks are those `at_root`, elsewhere in scratch_; kInvalid when they do not fit the
  // counts.
  Result<Rooted> BeginRooted(Collective collective, std::span<std::byte> at_root, size_t own_bytes,
                             size_t element_bytes, int root, std::span<const size_t> counts,
                             const CallOptions& options);
  // Begin's schedule over one buffer, cut by offsets_.
  Status Run(const Plan& plan, std::span<std::byte> buffer, const Reduction* reduction);
  Status Ended(const Status& status);  // remembers a failure
  Status ReduceInputs(const Plan& plan, std::span<std::byte> data, const Reduction& reduction);
  Status CheckRoot(int root) const;
  // sizes[s * n + d]: bytes that rank s sends to d. What is sent to this rank against what it
  // expects, cut by out_offsets_; a difference ends the group.
  Status CheckSenders(std::span<const size_t> sizes);
  // Blocks of counts[r] elements, or nearly equal ones of `bytes`, into *offsets.
  Status CutByRank(std::span<const size_t> counts, size_t element_bytes, size_t bytes,
                   std::string_view what, BlockOffsets* offsets) const;

  std::unique_ptr<Exchanger> owned_;  // of a group within a group
  Exchanger* exchanger_;
  GroupOptions options_;
  uint32_t id_ = 0;
  uint64_t calls_ = 0;
  Status failure_;
  std::map<uint64_t, Schedule> schedules_;  // by algorithm, root and pieces
  BlockOffsets offsets_;
  BlockOffsets out_offsets_;
  std::vector<std::byte> scratch_;
  Workspace workspace_;
};

}  // namespace strata
