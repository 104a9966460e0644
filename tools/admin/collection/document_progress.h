// What strata-admin collection load, export, get and delete show while they work: a line on stderr,
// often where somebody looks on, now and then where it is kept; and of load, export and delete the
// line at their end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace strata::admin {

// Of no time at all, too.
double DocumentsPerSecond(uint64_t documents, double seconds);

// "load      45 %  81,920 documents  1,234/s  ETA 1m21s"; share: from 0 to 1, of what there is to
// do.
std::string DocumentsLine(std::string_view what, uint64_t documents, double share, double seconds);

// "loaded 81,920 documents into collection baskets in 1m06s, 1,234/s"; `done`: "loaded", `where`:
// "into collection baskets".
std::string DoneLine(std::string_view done, uint64_t documents, std::string_view where,
                     double seconds);

// One thread.
class DocumentProgress {
 public:
  explicit DocumentProgress(std::string_view what);  // "load"
  ~DocumentProgress();                               // ends the line
  DocumentProgress(const DocumentProgress&) = delete;
  DocumentProgress& operator=(const DocumentProgress&) = delete;

  void Show(uint64_t documents, double share);
  double Seconds() const;  // since it was made

 private:
  const std::string what_;
  const bool is_screen_;
  const TimeNs begin_;
  TimeNs last_ = 0;
  bool shown_ = false;
};

}  // namespace strata::admin
