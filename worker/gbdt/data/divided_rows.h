// What loading has to settle where rows are divided over ranks: where each rank's rows begin, so
// that no query is cut, bins, which are those that one rank with all rows would find, and
// the texts of categories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/gbdt/data/bin_mapper.h"
#include "worker/gbdt/data/category_texts.h"
#include "worker/gbdt/data/row_share.h"

namespace strata {

// The number of the first row of each rank, and that of all rows, when every query belongs as a
// whole to the rank in whose part of `share` it begins. Either `begins` says where the queries of
// all rows begin, or `query_of_row` to which one each row here belongs. Collective.
Result<std::vector<uint64_t>> BordersOfWholeQueries(Group& group, const RowShare& share,
                                                    std::span<const int64_t> query_of_row,
                                                    std::span<const size_t> begins);

// The mappers of all features, from the samples of all ranks together: each rank finds those of
// some features. Without division those of the samples here. Collective.
Result<std::vector<BinMapper>> FindMappers(Group* group, const RowShare& share,
                                           std::vector<FeatureSample> samples,
                                           const BinningRules& rules, WorkPool& pool);

// Each set becomes that of all ranks' texts; they have as many sets. Collective.
Status JoinTexts(Group& group, CategoryTextSets* sets);

// kInvalid: the ranks' files do not have the same columns in the same order; names two ranks and
// where they differ. `features`, in their order; of a file whose rows do not say which there are
// (libsvm), none. Collective.
Status AgreeOnColumns(Group& group, const std::string& path,
                      const std::vector<std::string>& features);

// kInvalid: the ranks do not all have the same number here; names `what` it is. Collective.
Status AgreeOnNumber(Group& group, const std::string& what, uint64_t number);

}  // namespace strata
