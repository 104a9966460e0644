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

struct TextBlock;
struct Line;

// One thread at a time.
class BadLines {
 public:
  static constexpr size_t kShownMax = 10;

  // `files` names what is read, for messages. `share_max` is the share of bad lines above which it
  // is no good. `logs`: the first pass warns of the first kShownMax, once it is through.
  BadLines(std::string files, double share_max, bool logs)
      : files_(std::move(files)), share_max_(share_max), logs_(logs) {}

  // What probably is wrong with all lines, and the step that helps; errors say it.
  void SetAdvice(std::string advice) { advice_ = std::move(advice); }

  // Counts a line of the block. Returns the reason with the line's place: "rows.csv:7: 3 columns,
  // expected 4". kInvalid, with counts and examples, once it is certain that too many are bad: more
  // than share_max of the lines that the share is estimated to have, or kShownMax and none is good.
  Result<std::string> Add(const TextBlock& block, const Line& line, const std::string& reason);

  // At the end of a share of so many lines. kInvalid as Add.
  Status End(uint64_t lines);

  // Forgets the lines, for another pass.
  void Reset();

  uint64_t count() const { return count_; }

 private:
  Status Check(uint64_t lines_read, uint64_t lines_expected) const;
  void LogExamples() const;

  std::string files_;
  double share_max_;
  bool logs_;
  std::string advice_;
  uint64_t count_ = 0;
  std::vector<std::string> examples_;
};

}  // namespace strata
