// SplitMessage: splits as elements of a collective that keeps the better one of two.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cluster/collective/group.h"
#include "kernels/tree/split/split_search.h"
#include "strata/status.h"

namespace strata {

// One thread at a time.
class SplitMessage {
 public:
  // Sets of bins have room for those of these features.
  explicit SplitMessage(std::span<const FeatureShape> shapes);

  // Each split becomes the best of those in its place on all ranks.
  Status FindBest(Group& group, std::span<Split* const> splits);

  size_t element_bytes() const { return element_bytes_; }

 private:
  void Write(const Split& split, std::byte* element) const;
  void Read(const std::byte* element, Split* split) const;

  size_t set_words_ = 0;  // of a set of bins
  size_t element_bytes_;
  std::vector<std::byte> bytes_;
};

}  // namespace strata
