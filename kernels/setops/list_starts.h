// ListStarts: where the postings of each list of a block begin, which stand list behind list.
//
// Of groups of 14 lists 32 bytes each: where the first begins, and how far from there each does.
// Or, where that is fewer bytes (a small block with many different tokens), for each posting the
// lower 8 bits of its list's number, which a search finds among those of 256 lists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"

namespace strata {

class ListStarts {
 public:
  static constexpr uint32_t kLongest = 4'096;  // postings of a list

  ListStarts() = default;  // of no lists
  // starts: of each list, and the end of the last; no list is longer than kLongest.
  explicit ListStarts(std::span<const uint32_t> starts);

  // Of the list, or, for the number of lists, the end of the last.
  uint32_t operator[](size_t list) const {
    if (groups_.empty()) return Search(list);
    const Group& group = groups_[list / kGroup];
    return group.begin + group.after[list % kGroup];
  }
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  // Of a list, faster than both by themselves.
  Range Of(size_t list) const {
    const uint32_t begin = (*this)[list];
    if (!groups_.empty()) return {begin, (*this)[list + 1]};
    const uint32_t page_end = pages_[list / kPage + 1];
    uint32_t end = begin;
    while (end < page_end && numbers_[end] == list % kPage) ++end;
    return {begin, end};
  }
  size_t bytes() const;

 private:
  static constexpr size_t kGroup = 14;
  struct Group {
    uint32_t begin = 0;
    std::array<uint16_t, kGroup> after{};
  };
  static_assert(sizeof(Group) == 32 && kGroup * kLongest <= UINT16_MAX);

  static constexpr size_t kPage = 256;  // lists

  uint32_t Search(size_t list) const;

  LargeArray<Group> groups_;
  // The other form: a number's lower bits by posting, and where each page of lists begins.
  LargeArray<uint8_t> numbers_;
  std::vector<uint32_t> pages_{0, 0};
};

}  // namespace strata
