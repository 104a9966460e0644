// Documents that have no token in common with a query: they are answers, too, when there are fewer
// better ones than were asked for.
#pragma once

#include <span>
#include <vector>

#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"

namespace strata {

struct AllowedBlock {
  const SetBlock* block = nullptr;
  std::span<const uint64_t> allowed;  // by place; empty: all
};

// Appends to a query's answer, which holds every document that shares a token with it, those with
// the smallest ids of all others, `count` of them or as many as there are. Takes of `room`, which
// may be null, and stops once that is exceeded.
void AppendStrangers(std::span<const AllowedBlock> blocks, size_t count, HitRoom* room,
                     std::vector<Hit>& answer);

// The whole answer, once every document of the blocks that shares a token has been offered to
// `hits`.
std::vector<Hit> TakeAnswer(std::span<const AllowedBlock> blocks, TopHits& hits);

// The blocks, with all of their documents allowed.
std::vector<AllowedBlock> AllowAll(std::span<const SetBlock> blocks);

}  // namespace strata
