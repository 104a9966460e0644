// What strata-admin collection load shows while it works: a line on stderr, often where somebody
// looks on, now and then where it is kept.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace strata::admin {

// "load      45 %  81,920 documents  1,234/s  ETA 1m21s"; share: from 0 to 1, of what there is to
// do.
std::string LoadLine(uint64_t documents, double share, double seconds);

// One thread.
class LoadProgress {
 public:
  LoadProgress();
  ~LoadProgress();  // ends the line
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;

  void Show(uint64_t documents, double share);
  double Seconds() const;  // since it was made; above 0

 private:
  const bool is_screen_;
  const TimeNs begin_;
  TimeNs last_ = 0;
  bool shown_ = false;
};

}  // namespace strata::admin
