#include "worker/gbdt/catboost/train/class_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

// Nothing: the text is no finite number.
std::optional<double> NumberOf(const std::string& text) {
  double number = 0;
  if (!ReadNumber(text, &number) || !std::isfinite(number)) return {};
  return number;
}

bool IsInteger(const std::string& text) {
  int32_t number = 0;
  return ReadNumber(text, &number) && std::to_string(number) == text;
}

}  // namespace

void SortClasses(std::span<std::string> names) {
  std::ranges::sort(names);
  if (!std::ranges::all_of(names, [](const auto& name) { return NumberOf(name).has_value(); })) {
    return;
  }
  std::ranges::stable_sort(names, {}, [](const std::string& name) { return *NumberOf(name); });
}

std::string ShownClasses(std::span<const std::string> names) {
  constexpr size_t kShown = 10;
  std::string shown;
  for (const std::string& name : names.first(std::min(names.size(), kShown))) {
    shown += fmt::format("{}{}", shown.empty() ? "" : ", ", ShownBytes(name));
  }
  return names.size() > kShown ? shown + ", ..." : shown;
}

bool AreIntegers(std::span<const std::string> names) {
  return std::ranges::all_of(names, IsInteger);
}

}  // namespace strata
