#include "worker/data/feature/label.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "worker/data/feature/number_text.h"

namespace strata {
std::string ReadLabel(const DataSpec& spec, std::string_view field, float* label) {
  if (field.empty()) return "the label is missing";
  if (spec.label_is_text) return "";
  if (!spec.label_positive.empty()) {
    const bool positive = std::ranges::count(spec.label_positive, field) != 0;
    if (positive || std::ranges::count(spec.label_negative, field) != 0) {
      *label = positive ? 1 : 0;
      return "";
    }
    return fmt::format("the label '{}' is neither in data.label_positive nor in label_negative",
                       ShownBytes(field));
  }
  double number = 0;
  const bool read = ParseNumber(field, &number);
  if (spec.label_is_number && !read) {
    return fmt::format("the label '{}' is no finite number", ShownBytes(field));
  }
  const bool is_sign = spec.sparse.has_value() && !spec.label_is_number;
  if (read && is_sign && number == -1) number = 0;
  if (!read || (!spec.label_is_number && number != 0 && number != 1)) {
    return fmt::format("the label '{}' is neither 0 nor 1{}", ShownBytes(field),
                       spec.sparse.has_value() ? ", nor -1 or +1" : "");
  }
  *label = static_cast<float>(number);
  return "";
}

}  // namespace strata
