#include "worker/tasks/catboost/option_reading.h"

#include <fmt/format.h>

namespace strata {

Status HasNoEffect(const Settings& settings, std::string_view key, std::string_view where) {
  return Invalid(
      fmt::format("{}: {} has no effect {}: remove it", settings.Origin(key), key, where));
}

float FloatOption(const Settings& settings, std::string_view key) {
  return static_cast<float>(settings.Float(key));
}

}  // namespace strata
