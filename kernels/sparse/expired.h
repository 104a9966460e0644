// Rows that have expired when an update comes to them: it finds what rows are that are made. Device
// memory; calls enqueue kernels, allocate nothing and do not synchronise.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/sparse/batch.h"
#include "strata/exec.h"
#include "strata/gpu/hash_map.h"

namespace strata {

// Lists the numbers of those of the `count` distinct keys whose row has expired by `alive_from`
// (HasExpired).
void ListExpired(const Exec& exec, const MapRef& map, const DistinctKeys& distinct, uint32_t count,
                 uint64_t alive_from, const MissList& expired);

// In place of ListPushes' count: the update is to pass over the key, which gets no row yet.
constexpr uint32_t kPassOver = ~0U;

// The row of distinct key numbers[n] becomes what `start` says, with no push so far, but for those
// that the update leaves alone: pushes[n] is 0 or kPassOver. The latter have no place from here on.
void BeginAnew(const Exec& exec, const MapRef& map, const DistinctKeys& distinct,
               std::span<const uint32_t> numbers, const uint32_t* pushes, const RowStart& start);

}  // namespace strata
