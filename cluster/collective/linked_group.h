// LinkedGroup: the group of ranks behind an Exchanger (Links between machines, MemoryWorld within a
// process).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/collective/blocks.h"
#include "cluster/collective/group.h"
#include "cluster/collective/reduce.h"
#include "cluster/link/exchange.h"
#include "cluster/topology/halving.h"

namespace strata {

// An allreduce below this many bytes, or of fewer elements than ranks, is an allgather of all
// inputs and a sum in rank order on every rank: half as many exchanges. The bound is LightGBM's.
constexpr size_t kSmallAllreduceBytes = 4096;

// A rank of an allgather says how much it brings; more than this in all is refused.
constexpr uint64_t kAllgatherBytesMax = 64ULL << 30;

// Keeps its scratch memory between calls. After the first error all calls return that error.
class LinkedGroup final : public Group {
 public:
  // The exchanger outlives the group. All ranks use the same form.
  explicit LinkedGroup(Exchanger& exchanger, HalvingForm form = HalvingForm::kPairLast);

  int rank() const override { return exchanger_.rank(); }
  int world() const override { return exchanger_.world(); }
  Status Allreduce(std::span<float> data, ReduceOp op) override;
  Status Allreduce(std::span<double> data, ReduceOp op) override;
  Status Allreduce(std::span<int64_t> data, ReduceOp op) override;
  Status Allgather(std::span<const std::byte> mine,
                   std::vector<std::vector<std::byte>>* all) override;

 private:
  Status ReduceBytes(std::span<std::byte> data, const Reduction& reduction);
  Status SmallAllreduce(std::span<std::byte> data, const Reduction& reduction, ExchangeTag* tag);
  Status LargeAllreduce(std::span<std::byte> data, const Reduction& reduction, ExchangeTag* tag);
  // Gathers into blocks whose sizes, in offsets_, all ranks know by now.
  Status GatherBytes(std::span<const std::byte> mine, std::vector<std::vector<std::byte>>* all,
                     ExchangeTag* tag);
  // Runs one collective under the next call number, or returns the error that ended the group.
  template <typename Body>
  Status Run(CollectiveKind kind, uint8_t detail, const Body& body);

  Exchanger& exchanger_;
  const HalvingForm form_;
  uint64_t calls_ = 0;
  Status failure_;
  BlockOffsets offsets_;
  std::vector<std::byte> scratch_;
};

}  // namespace strata
