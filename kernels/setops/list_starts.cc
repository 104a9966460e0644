#include "kernels/setops/list_starts.h"

#include <algorithm>

#include "strata/status.h"

namespace strata {

ListStarts::ListStarts(std::span<const uint32_t> starts) {
  const size_t groups = (starts.size() + kGroup - 1) / kGroup;
  const size_t lists = starts.size() - 1;
  const size_t pages = lists / kPage + 1;
  const uint32_t postings = starts.back();
  if (groups * sizeof(Group) <= postings + (pages + 1) * sizeof(uint32_t)) {
    groups_.resize(groups);
    for (size_t list = 0; list < starts.size(); ++list) {
      Group& group = groups_[list / kGroup];
      if (list % kGroup == 0) group.begin = starts[list];
      const uint32_t after = starts[list] - group.begin;
      STRATA_CHECK(after <= UINT16_MAX);
      group.after[list % kGroup] = static_cast<uint16_t>(after);
    }
    return;
  }
  numbers_.resize(postings);
  for (size_t list = 0; list < lists; ++list) {
    std::fill(numbers_.begin() + starts[list], numbers_.begin() + starts[list + 1],
              static_cast<uint8_t>(list % kPage));
  }
  pages_.assign(pages + 1, postings);
  for (size_t page = 0; page < pages; ++page) pages_[page] = starts[page * kPage];
}

uint32_t ListStarts::Search(size_t list) const {
  const size_t page = list / kPage;
  const auto found = std::lower_bound(numbers_.begin() + pages_[page],
                                      numbers_.begin() + pages_[page + 1], list % kPage);
  return static_cast<uint32_t>(found - numbers_.begin());
}

size_t ListStarts::bytes() const {
  return groups_.size() * sizeof(Group) + numbers_.size() + pages_.size() * sizeof(uint32_t);
}

}  // namespace strata
