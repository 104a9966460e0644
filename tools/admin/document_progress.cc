#include "tools/admin/document_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/human_text.h"

namespace strata::admin {

std::string DocumentsLine(std::string_view what, uint64_t documents, double share, double seconds) {
  const auto rate = static_cast<uint64_t>(static_cast<double>(documents) / seconds);
  std::string line = fmt::format("{:<8} {:3.0f} %  {} documents  {}/s", what, 100 * share,
                                 HumanCount(documents), HumanCount(rate));
  if (share > 0) line += fmt::format("  ETA {}", HumanSeconds(seconds * (1 - share) / share));
  return line;
}

DocumentProgress::DocumentProgress(std::string_view what)
    : what_(what), is_screen_(isatty(STDERR_FILENO) == 1), begin_(RealClock().Now()) {}

DocumentProgress::~DocumentProgress() {
  if (is_screen_ && shown_) fmt::print(stderr, "\n");
}

void DocumentProgress::Show(uint64_t documents, double share) {
  const TimeNs now = RealClock().Now();
  const TimeNs every = is_screen_ ? kSecond / 5 : 10 * kSecond;
  if (now - last_ < every || now - begin_ < every) return;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "{}{}{}", is_screen_ ? "\r\x1b[K" : "",
             DocumentsLine(what_, documents, share, Seconds()), is_screen_ ? "" : "\n");
}

double DocumentProgress::Seconds() const {
  return std::max(1e-9, static_cast<double>(RealClock().Now() - begin_) / kSecond);
}

}  // namespace strata::admin
