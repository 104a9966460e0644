// Group: the workers of one job as collectives see them. Every rank calls the same collectives in
// the same order; results are identical on all ranks, to the bit, and depend only on the ranks'
// inputs and their number, never on timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace strata {

enum class ReduceOp : uint8_t { kSum, kMin, kMax };

// One thread at a time. Any failure (a lost rank, a deadline, a cancel) ends the group: that call
// and all later ones return the same error, which names the rank.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int world() const = 0;

  // data becomes the element-wise reduction over all ranks; equal sizes on all ranks.
  virtual Status Allreduce(std::span<float> data, ReduceOp op) = 0;
  virtual Status Allreduce(std::span<double> data, ReduceOp op) = 0;
  virtual Status Allreduce(std::span<int64_t> data, ReduceOp op) = 0;

  // all[r] becomes rank r's bytes; sizes may differ.
  virtual Status Allgather(std::span<const std::byte> mine,
                           std::vector<std::vector<std::byte>>* all) = 0;
};

// A world of one: nothing is sent. For embedded jobs.
class SingleGroup final : public Group {
 public:
  int rank() const override { return 0; }
  int world() const override { return 1; }
  Status Allreduce(std::span<float>, ReduceOp) override { return {}; }
  Status Allreduce(std::span<double>, ReduceOp) override { return {}; }
  Status Allreduce(std::span<int64_t>, ReduceOp) override { return {}; }
  Status Allgather(std::span<const std::byte> mine,
                   std::vector<std::vector<std::byte>>* all) override {
    all->assign(1, std::vector<std::byte>(mine.begin(), mine.end()));
    return {};
  }
};

}  // namespace strata
