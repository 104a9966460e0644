// Group: ranks that call collectives together. Every rank calls the same collectives in the same
// order with the same sizes; results are identical on all ranks, to the bit, and depend only on the
// ranks' inputs, their number and the algorithm, never on timing.
//
// Typed calls are thin: they name bytes and a reduction. Sizes are 64-bit. Buffers that are passed
// as one span are worked on in place.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "strata/collective.h"
#include "strata/reduction.h"
#include "strata/status.h"
#include "strata/time.h"

namespace strata {

class Exchanger;
struct GroupOptions;

struct CallOptions {
  std::optional<Algorithm> algorithm = std::nullopt;  // instead of the table's choice
  TimeNs timeout = 0;                                 // 0: the group's
};

// One thread at a time, groups and their sub-groups together. Any failure (a lost rank, a deadline,
// ranks that disagree) ends the group: that call and all later ones return the same error, which
// names the rank. Only invalid arguments (a root beyond the ranks, counts that do not fit the
// buffer, an algorithm that the operation does not have) are refused with kInvalid, before anything
// is sent. The group then goes on, provided that all ranks passed them.
class Group {
 public:
  // Within Strata alone: over anything that ranks can exchange through, which outlives the group.
  // Others join a group (strata/worker_group.h).
  explicit Group(Exchanger& exchanger);
  Group(Exchanger& exchanger, GroupOptions options);
  Group(Group&& other) noexcept;
  ~Group();

  int rank() const;
  int world() const;

  // ---- Reductions. `data` becomes the element-wise reduction over all ranks.

  template <typename T>
  Status Allreduce(std::span<T> data, ReduceOp op, const CallOptions& options = {}) {
    return Allreduce(std::as_writable_bytes(data), MakeReduction<T>(op), options);
  }
  Status Allreduce(std::span<std::byte> data, const Reduction& reduction,
                   const CallOptions& options = {});

  // Only the root has the result; elsewhere `data` is overwritten with what means nothing.
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
  void Cancel(const Status& why);

  // ---- Groups within the group.

  // A group of the ranks that pass the same color, in the order of (key, rank). Uses this group's
  // links, so a failure in it ends this one, too. Lives no longer than what this group's ranks are
  // linked by.
  Result<Group> Split(int color, int key);

 private:
  class Impl;
  explicit Group(std::unique_ptr<Impl> impl);

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

  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
