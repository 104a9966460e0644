#include "worker/data/file/bad_lines.h"

#include <fmt/format.h>

#include "base/human_text.h"
#include "base/log.h"
#include "worker/data/text/text_blocks.h"

namespace strata {

std::string LinePlace(const std::string& path, uint64_t offset, uint64_t line_number) {
  return line_number != 0 ? fmt::format("{}:{}", path, line_number)
                          : fmt::format("{}: line at byte {}", path, offset);
}

Result<std::string> BadLines::Add(const TextBlock& block, const Line& line,
                                  const std::string& reason) {
  ++count_;
  std::string text = fmt::format("{}: {}", block.PlaceOf(line), reason);
  if (examples_.size() < kShownMax) examples_.push_back(text);
  // The estimate is rough while few lines have been read.
  if (count_ >= kShownMax) STRATA_TRY(Check(block.LinesRead(line), block.LinesEstimated(line)));
  return text;
}

Status BadLines::End(uint64_t lines) {
  STRATA_TRY(Check(lines, lines));
  if (logs_) LogExamples();
  logs_ = false;  // later passes would say the same
  return {};
}

void BadLines::LogExamples() const {
  for (const std::string& example : examples_) {
    Log(LogLevel::kWarning, "data: left out {}", example);
  }
  if (count_ > examples_.size()) {
    Log(LogLevel::kWarning, "data: {}: {} cannot be read and are left out; the first {} are above",
        files_, Counted(count_, "line"), examples_.size());
  }
}

Status BadLines::Check(uint64_t lines_read, uint64_t lines_expected) const {
  const bool none_good = count_ >= kShownMax && count_ == lines_read;
  const auto share = static_cast<double>(count_) / static_cast<double>(lines_expected);
  if (count_ == 0 || (share <= share_max_ && !none_good)) return Status::Ok();
  std::string text = fmt::format(
      "{}: {} of the first {} lines cannot be read; at most {:g} % of a file may be bad. {} The "
      "first:",
      files_, count_, lines_read, share_max_ * 100,
      !advice_.empty() ? advice_
                       : "Correct the file, its description in [data] of the job file, or "
                         "data.bad_share_max.");
  for (const std::string& example : examples_) text += "\n  " + example;
  return Invalid(std::move(text));
}

void BadLines::Reset() {
  count_ = 0;
  examples_.clear();
}

}  // namespace strata
