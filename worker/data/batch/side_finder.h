// SideFinder: a UniqueFinder on a thread beside the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/side_thread.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/unique_keys.h"

namespace strata {

// One thread at a time.
class SideFinder {
 public:
  // `threads` help. Both outlive this and may be null: without `beside` Begin does all the work.
  SideFinder(WorkPool* threads, SideThread* beside) : finder_(threads), beside_(beside) {}
  ~SideFinder();
  SideFinder(const SideFinder&) = delete;
  SideFinder& operator=(const SideFinder&) = delete;

  bool is_beside() const { return beside_ != nullptr; }
  // As UniqueFinder::Find. All three stay as they are until Wait, which comes before the next
  // Begin.
  void Begin(const Batch& batch, std::span<const uint32_t> table_slots, UniqueKeys* unique);
  // kRefused: memory ran out.
  Status Wait();

 private:
  UniqueFinder finder_;
  SideThread* const beside_;
  bool has_begun_ = false;
  Status outcome_;  // the side thread's until it has been waited for
};

}  // namespace strata
