#include "worker/tasks/catboost/display_options.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

// true is 1, and false 0. Less than 0: it is none of them.
int64_t VerboseNumber(const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  int64_t number = -1;
  return ReadNumber(text, &number) ? number : -1;
}

}  // namespace

Result<DisplayOptions> ReadDisplay(const Settings& settings) {
  DisplayOptions options = {.metric_period = static_cast<size_t>(settings.Int("metric_period")),
                            .shows_progress = settings.Text("logging_level") != "Silent"};
  if (!settings.IsSet("verbose")) return options;
  const int64_t verbose = VerboseNumber(settings.Text("verbose"));
  if (verbose < 0) {
    return Invalid(
        fmt::format("{}: verbose: expected true, false or a number of rounds, found '{}'",
                    settings.Origin("verbose"), ShownBytes(settings.Text("verbose"))));
  }
  for (const char* const key : {"logging_level", "metric_period"}) {
    if (!settings.IsSet(key)) continue;
    // true and false say nothing of a period.
    if (verbose < 2 && std::string_view(key) == "metric_period") continue;
    return Invalid(fmt::format("{}: {} and verbose exclude each other: remove one",
                               settings.Origin(key), key));
  }
  options.shows_progress = verbose > 0;
  if (verbose > 1) options.metric_period = static_cast<size_t>(verbose);
  return options;
}

}  // namespace strata
