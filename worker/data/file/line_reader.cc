#include "worker/data/file/line_reader.h"

namespace strata {

Result<bool> LineReader::Next(Line* line) {
  if (!cursor_.Next(block_, &last_)) {
    STRATA_ASSIGN(const bool more, blocks_.Next(&block_));
    if (!more) {
      last_.end = blocks_.position();
      return false;
    }
    cursor_ = {};
    cursor_.Next(block_, &last_);
  }
  *line = last_;
  return true;
}

void LineReader::Rewind() {
  blocks_.Rewind();
  block_.size = 0;
  block_.decoded = 0;
  cursor_ = {};
  last_ = {.end = blocks_.position()};
}

}  // namespace strata
