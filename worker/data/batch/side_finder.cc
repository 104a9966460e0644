#include "worker/data/batch/side_finder.h"

#include <utility>

#include "base/out_of_memory.h"

namespace strata {

SideFinder::~SideFinder() { (void)Wait(); }

void SideFinder::Begin(const Batch& batch, std::span<const uint32_t> table_slots,
                       UniqueKeys* unique) {
  const auto find = [this, &batch, table_slots, unique] {
    outcome_ = OrOutOfMemory("the distinct keys of a batch", [&]() -> Status {
      finder_.Find(batch, table_slots, unique);
      return {};
    });
  };
  if (beside_ == nullptr) return find();
  has_begun_ = true;
  beside_->Begin(find);
}

Status SideFinder::Wait() {
  if (std::exchange(has_begun_, false)) beside_->Wait();
  return std::exchange(outcome_, Status());
}

}  // namespace strata
