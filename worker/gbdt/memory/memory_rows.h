// MemoryRows: rows of numbers in a caller's memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strata/boosted_trees.h"
#include "strata/status.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

class MemoryRows : public RowSource {
 public:
  // The memory outlives it. `what` is for messages: "valid[0]". kInvalid: numbers that make no
  // whole rows, or labels or weights that are not one a row. Without labels, those of rows are NaN.
  static Result<MemoryRows> Make(const TreeRows& rows, std::string what, bool needs_labels);

  Status Next(SparseRows* block) override;
  Status Rewind() override;
  Status TakePart(const RowPart& part) override;  // kRefused
  size_t features() const override { return given_.features; }
  // Empty ones: a model numbers them.
  std::vector<std::string> FeatureNames() const override {
    return std::vector<std::string>(given_.features);
  }

  const std::string& what() const { return what_; }

 private:
  MemoryRows(const TreeRows& rows, std::string what, size_t count)
      : given_(rows), what_(std::move(what)), rows_(count) {}

  TreeRows given_;
  std::string what_;
  size_t rows_;
  size_t next_row_ = 0;
};

}  // namespace strata
