// RowShare: which part of all rows is on this rank, and what is computed over the parts of all
// ranks: sums that do not depend on how rows are divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "cluster/collective/group.h"
#include "strata/status.h"

namespace strata {

// What every rank has found by itself, for all of them to return: waits until all have, so that
// nobody's end hides it from another. Collective.
Status FailTogether(Group& group, const Status& status);

// One thread at a time. Where rows are divided, all calls but the accessors are collective: every
// rank makes the same ones in the same order. They do not fail: once a rank is lost, they return
// what is known here, which is worth nothing, and status() says so. Whoever runs a round asks it
// in the end. Copies share their status.
class RowShare {
 public:
  RowShare() = default;  // all rows are here
  // This rank's part has `rows` rows, behind those of all lower ranks. The group outlives it.
  // kInvalid: a rank has none; names it. Collective.
  static Result<RowShare> Divide(Group& group, size_t rows);

  bool is_whole() const { return state_ == nullptr; }
  // The number among all rows of the first one here.
  uint64_t first_row() const { return first_row_; }
  // Of all ranks; `here` where they are all here.
  uint64_t all_rows(size_t here) const { return is_whole() ? here : all_rows_; }
  Status status() const { return is_whole() ? Status::Ok() : state_->status; }

  // What every rank has found in numbers of all of them, for all to return (FailTogether); what was
  // lost before counts more.
  Status FailEverywhere(const Status& status) const;

  // Numbers become their sums, or the largest, over all ranks.
  void Sum(std::span<int64_t> numbers) const;
  void Max(std::span<double> numbers) const;
  int64_t Sum(int64_t number) const;
  double Max(double number) const;
  bool Any(bool here) const { return Sum(here ? 1 : 0) > 0; }
  // The sum of all ranks' numbers, by ExactSum: the same however they are divided among ranks and
  // threads.
  double Total(std::span<const double> numbers, WorkPool* pool = nullptr) const;

  // Joins each list with the other ranks' in rank order. Rank r gets lists r, r + world, ...; only
  // where rows are divided.
  using Bytes = std::vector<std::byte>;
  std::vector<Bytes> Join(std::span<const std::span<const std::byte>> lists) const;
  // Joins each list with the other ranks' in rank order, each at one rank, computes a number from
  // it there (with a pool, several at a time), and returns all of them everywhere. Elements are
  // plain.
  template <typename T>
  std::vector<double> Compute(
      std::span<std::vector<T>> lists,
      const std::function<double(size_t list, std::vector<T>& elements)>& compute,
      WorkPool* pool = nullptr) const;

 private:
  struct State {
    Group& group;
    Status status;
  };
  // Without a pool here.
  static void RunOn(WorkPool* pool, size_t count, const std::function<void(size_t)>& task) {
    if (pool != nullptr) return pool->Run(count, task);
    for (size_t i = 0; i < count; ++i) task(i);
  }
  size_t world() const { return static_cast<size_t>(state_->group.world()); }
  size_t rank() const { return static_cast<size_t>(state_->group.rank()); }
  // Remembers the first error; whether all is well.
  bool Keep(const Status& status) const;

  std::shared_ptr<State> state_;
  uint64_t first_row_ = 0;
  uint64_t all_rows_ = 0;
};

template <typename T>
std::vector<double> RowShare::Compute(
    std::span<std::vector<T>> lists,
    const std::function<double(size_t list, std::vector<T>& elements)>& compute,
    WorkPool* pool) const {
  std::vector<double> results(lists.size(), 0);
  if (is_whole()) {
    RunOn(pool, lists.size(), [&](size_t i) { results[i] = compute(i, lists[i]); });
    return results;
  }
  std::vector<std::span<const std::byte>> bytes;
  for (const std::vector<T>& list : lists) bytes.push_back(std::as_bytes(std::span(list)));
  const std::vector<Bytes> joined = Join(bytes);
  RunOn(pool, joined.size(), [&](size_t i) {
    std::vector<T> elements(joined[i].size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), joined[i].data(), joined[i].size());
    const size_t list = rank() + i * world();
    results[list] = compute(list, elements);
  });
  // One rank alone has a result, the others 0: the sum of the bits are the result's.
  std::vector<int64_t> bits(results.size());
  if (!bits.empty()) std::memcpy(bits.data(), results.data(), bits.size() * sizeof(double));
  Sum(bits);
  if (!bits.empty()) std::memcpy(results.data(), bits.data(), bits.size() * sizeof(double));
  return results;
}

}  // namespace strata
