// LineEncoder: what the lines of one format of text are as samples.
#pragma once

#include <string>
#include <string_view>

#include "worker/data/batch/batch.h"

namespace strata {

enum class LineKind {
  kSample,
  kBad,    // no row of the format
  kWrong,  // a row that the model cannot have
};

// One thread at a time. Lines are valid during the call.
class LineEncoder {
 public:
  virtual ~LineEncoder() = default;
  // Makes the batch empty, of the shape of the samples.
  virtual void Start(Batch* batch) const = 0;
  // Whether a line stands for nothing: a comment, or blanks.
  virtual bool IsSkipped(std::string_view line) const = 0;
  // Appends the sample of a line that is not to be skipped. One that is no sample appends nothing,
  // and `why` becomes the reason.
  virtual LineKind Append(std::string_view line, Batch* batch, std::string* why) = 0;
  // Appends a sample whose values are missing.
  virtual void AppendMissing(Batch* batch) = 0;
};

}  // namespace strata
