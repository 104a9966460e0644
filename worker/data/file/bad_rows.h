// BadRows: the rows of a file that get no prediction because they cannot be read: how many there
// are, and why the first ones cannot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

// A row that cannot be read, within a block of rows: how many rows of the block stand before it,
// and why: "rows.csv:7: 3 columns, expected 4".
struct BadRow {
  size_t row = 0;
  std::string reason;
};

// One thread at a time.
class BadRows {
 public:
  static constexpr size_t kShownMax = 10;

  // `row` counts this process's rows from 0.
  void Add(uint64_t row, const std::string& reason);

  // Warns of the first kShownMax, with their numbers among all rows, and says how many there are.
  // `first_row` rows of other processes stand before this one's.
  void Log(uint64_t first_row) const;

  uint64_t count() const { return count_; }

 private:
  struct Shown {
    uint64_t row;
    std::string reason;
  };

  uint64_t count_ = 0;
  std::vector<Shown> shown_;
};

}  // namespace strata
