#include "worker/data/file/bad_rows.h"

#include "base/human_text.h"
#include "base/log.h"

namespace strata {

void BadRows::Add(uint64_t row, const std::string& reason) {
  ++count_;
  if (shown_.size() < kShownMax) shown_.push_back({row, reason});
}

void BadRows::Log(uint64_t first_row) const {
  for (const Shown& shown : shown_) {
    strata::Log(LogLevel::kWarning, "row {}, counted from 0, has no prediction: {}",
                first_row + shown.row, shown.reason);
  }
  if (count_ > shown_.size()) {
    strata::Log(LogLevel::kWarning, "{} have no prediction; the first {} are named above",
                Counted(count_, "row"), shown_.size());
  }
}

}  // namespace strata
