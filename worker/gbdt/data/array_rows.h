// What loading takes from an array of numbers, on all threads of a pool: labels and the like, and
// bin boundaries from a sample of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/data/bin_mapper.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

// Appends what columns that are no features hold to rows' labels, weights and queries. kInvalid
// names the first value that is wrong. `path` is for messages.
Status ReadArrayLabels(const ArrayRows& array, const std::string& path, WorkPool& pool,
                       SparseRows* rows);

// Of each feature the column that holds it; ~0: none does.
std::vector<uint32_t> ColumnsOfFeatures(const ColumnRoles& roles);

// FindMappers for the rows that `chosen` numbers; of the samples only their values are missing.
Result<std::vector<BinMapper>> FindArrayMappers(const ArrayRows& array,
                                                std::span<const size_t> chosen,
                                                std::vector<FeatureSample> samples,
                                                const BinningRules& rules, WorkPool& pool);

}  // namespace strata
