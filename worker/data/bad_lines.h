// BadLines: counts the lines of files that could not be read, shows the first, and says when there
// are too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata {

// Where a line is: "rows.csv:7", or "rows.csv: line at byte 312" with the line number 0, which
// means that it is unknown.
std::string LinePlace(const std::string& path, uint64_t offset, uint64_t line_number);

class BadLines {
 public:
  static constexpr size_t kShownMax = 10;

  // `files` names what is read, for messages. `share_max` is the share of bad lines above which it
  // is no good.
  BadLines(std::string files, double share_max) : files_(std::move(files)), share_max_(share_max) {}

  // Counts a line. Returns the reason with the line's place: "rows.csv:7: 3 columns, expected 4".
  std::string Add(const std::string& place, const std::string& reason);

  // Warns of the first kShownMax, and says how many there are: for a file that is good enough,
  // whose Check does not show them.
  void LogExamples() const;

  // What probably is wrong with all lines, and the step that helps; Check's error says it.
  void SetAdvice(std::string advice) { advice_ = std::move(advice); }

  // kInvalid, with counts and examples, when more than share_max of `lines_expected` lines are bad
  // already, or when there were kShownMax lines and none of them was good.
  Status Check(uint64_t lines_read, uint64_t lines_expected) const;

  // Forgets everything, for another pass.
  void Reset();

  uint64_t count() const { return count_; }

 private:
  std::string files_;
  double share_max_;
  std::string advice_;
  uint64_t count_ = 0;
  std::vector<std::string> examples_;
};

}  // namespace strata
