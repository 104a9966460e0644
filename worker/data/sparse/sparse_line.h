// One line of sparse rows into its values: of libffm "label field:feature:value ...", of libsvm
// "label [qid:number] index:value ... # comment". Blanks and tabs separate the words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/data/feature/data_spec.h"

namespace strata {

struct SparseValue {
  uint32_t field = 0;     // of libffm; libsvm has one field alone, 0
  std::string_view text;  // of the feature; of libsvm the index without zeros in front
  float weight = 1;       // the value

  friend bool operator==(const SparseValue&, const SparseValue&) = default;
};

// The parts of a line, reused from line to line. They point into the line.
struct SparseLine {
  std::string_view label;  // as it is written; "" where the line begins with a value
  std::vector<SparseValue> values;
};

// Splits a line; returns "", or why it is none of the format. The label can be any word.
std::string SplitSparseLine(std::string_view line, SparseFormat format, SparseLine* out);

// True for lines of nothing but blanks and, of libsvm, a comment.
bool IsSkippedSparseLine(std::string_view line, SparseFormat format);

}  // namespace strata
