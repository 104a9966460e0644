#include "worker/job/wrong_setting.h"

#include <fmt/format.h>

namespace strata {
namespace {

std::string PlaceOf(const Settings& settings, std::string_view key) {
  return settings.IsSet(key) ? settings.Origin(key) : settings.Where();
}

}  // namespace

Status Wrong(const Settings& settings, std::string_view key, std::string_view what) {
  return Invalid(fmt::format("{}: {} {}", PlaceOf(settings, key), key, what));
}

Status WrongIn(std::string_view section, const Settings& element, std::string_view key,
               std::string_view what) {
  return Invalid(fmt::format("{}: {}.{} {}", PlaceOf(element, key), section, key, what));
}

}  // namespace strata
