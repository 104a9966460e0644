#include "storage/gpu/distinct_buffers.h"

namespace strata {

Status DistinctBuffers::Reserve(size_t keys) {
  STRATA_TRY(keys_.ReserveFor<uint64_t>(keys));
  STRATA_TRY(places_.ReserveFor<uint64_t>(keys));
  STRATA_TRY(order_.ReserveFor<uint32_t>(keys));
  STRATA_TRY(starts_.ReserveFor<uint32_t>(keys + 1));
  STRATA_TRY(lasts_.ReserveFor<uint32_t>(keys));
  STRATA_TRY(often_.ReserveFor<uint32_t>(keys));
  return missing_.ReserveFor<uint32_t>(keys);
}

DistinctKeys DistinctBuffers::With(DistinctCounts* counts) const {
  return {.keys = keys_.as<uint64_t>(),
          .places = places_.as<uint64_t>(),
          .order = order_.as<uint32_t>(),
          .starts = starts_.as<uint32_t>(),
          .lasts = lasts_.as<uint32_t>(),
          .often = often_.as<uint32_t>(),
          .missing = missing_.as<uint32_t>(),
          .count = &counts->distinct,
          .missing_count = &counts->missing,
          .often_counts = counts->often};
}

}  // namespace strata
