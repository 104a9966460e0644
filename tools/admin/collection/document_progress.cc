#include "tools/admin/collection/document_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/human_text.h"
#include "base/print.h"

namespace strata::admin {
namespace {

std::string RateText(uint64_t documents, double seconds) {
  return HumanCount(static_cast<uint64_t>(DocumentsPerSecond(documents, seconds)));
}

}  // namespace

double DocumentsPerSecond(uint64_t documents, double seconds) {
  return static_cast<double>(documents) / std::max(seconds, 1e-9);
}

std::string DocumentsLine(std::string_view what, uint64_t documents, double share, double seconds) {
  std::string line = fmt::format("{:<8} {:3.0f} %  {} documents  {}/s", what, 100 * share,
                                 HumanCount(documents), RateText(documents, seconds));
  if (share > 0) line += fmt::format("  ETA {}", HumanSeconds(seconds * (1 - share) / share));
  return line;
}

std::string DoneLine(std::string_view done, uint64_t documents, std::string_view where,
                     double seconds) {
  return fmt::format("{} {} {} in {}, {}/s", done, Counted(documents, "document"), where,
                     HumanSeconds(seconds), RateText(documents, seconds));
}

DocumentProgress::DocumentProgress(std::string_view what)
    : what_(what), is_screen_(isatty(STDERR_FILENO) == 1), begin_(RealClock().Now()) {}

DocumentProgress::~DocumentProgress() {
  if (is_screen_ && shown_) PrintStderr("\n");
}

void DocumentProgress::Show(uint64_t documents, double share) {
  const TimeNs now = RealClock().Now();
  const TimeNs every = is_screen_ ? kSecond / 5 : 10 * kSecond;
  if (now - last_ < every || now - begin_ < every) return;
  last_ = now;
  shown_ = true;
  PrintStderr("{}{}{}", is_screen_ ? "\r\x1b[K" : "",
              DocumentsLine(what_, documents, share, Seconds()), is_screen_ ? "" : "\n");
}

double DocumentProgress::Seconds() const {
  return static_cast<double>(RealClock().Now() - begin_) / kSecond;
}

}  // namespace strata::admin
