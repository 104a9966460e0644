// What ranks do while something goes wrong around them: collectives of random kinds, algorithms,
// sizes and roots, of whole numbers, so that every result is known.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/collective/group.h"
#include "strata/status.h"

namespace strata::soak {

// The same on every rank: a function of the seed and the number of the call.
struct RankCall {
  Collective operation = Collective::kBarrier;
  Algorithm algorithm = Algorithm::kDissemination;
  size_t count = 0;  // elements of 8 bytes, of all ranks together
  int root = 0;
  int64_t base = 0;  // of the values
};
RankCall PlanRankCall(uint64_t seed, uint64_t number, int world);

// Keeps its buffers from call to call. One thread.
class RankLoad {
 public:
  // The group outlives this.
  explicit RankLoad(Group* group) : group_(group) {}

  // What the group says; *right becomes false when a result is not what it must be.
  Status Do(const RankCall& call, bool* right);
  // Whether any rank says so; a collective, too.
  Status AnySaysSo(bool mine, bool* any);

 private:
  Status Reduce(const RankCall& call, bool* right);
  Status Spread(const RankCall& call, bool* right);
  Status Deal(const RankCall& call, bool* right);

  int64_t Value(const RankCall& call, int rank, size_t index) const;
  int64_t Sum(const RankCall& call, size_t index) const;

  Group* const group_;
  std::vector<int64_t> in_;
  std::vector<int64_t> out_;
};

}  // namespace strata::soak
