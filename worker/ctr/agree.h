// Agreement of a group's ranks on how a step went that not all of them took the same way.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/collective/group.h"
#include "strata/status.h"

namespace strata {

// Every rank gives its status and gets that of the lowest rank that failed, with "worker R: " in
// front on the others; OK when all did well. The group's own error wins.
Status AgreeOnStatus(Group& group, const Status& mine);

// Every rank gets rank 0's number.
Result<uint64_t> NumberOfRank0(Group& group, uint64_t mine);

// Every rank gets the sum of all ranks' numbers.
Result<uint64_t> SumOverRanks(Group& group, uint64_t mine);

// Every rank gets rank 0's bytes, or its error with "worker 0: " in front; the others' are ignored.
Result<std::string> BytesOfRank0(Group& group, const Result<std::string>& mine);

}  // namespace strata
