// Searches of a collection through servers, for suite "search".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness/figure.h"
#include "bench/suites/search/search_data.h"
#include "kernels/setops/top_hits.h"
#include "strata/status.h"

namespace strata::bench {

// Queries a second and latencies of so many clients at a time, each of which asks for one query
// after the other, against two servers of this process with a lane each, `copies` of which have
// each document; beside the collection itself.
Result<std::vector<Figure>> RunSearchService(const std::string& name, size_t clients,
                                             const DocumentSource& source, const SearchGoal& goal,
                                             uint8_t copies, const BenchOptions& options);

// What pulls of 64 rows, one after the other, take while so many clients search, beside when nobody
// does.
Result<std::vector<Figure>> RunPullsBesideSearches(const std::string& name, size_t clients,
                                                   const DocumentSource& source,
                                                   const SearchGoal& goal,
                                                   const BenchOptions& options);

}  // namespace strata::bench
