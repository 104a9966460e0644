#include "worker/data/raw/raw_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/human_text.h"

namespace strata {

size_t RawLayout::keys() const {
  return std::accumulate(slot_keys.begin(), slot_keys.end(), size_t{0});
}

std::string RawLayout::Text() const {
  const auto name = [](RawNumber number) { return number == RawNumber::kFloat ? "float" : "int"; };
  return fmt::format("{} {} label, {} and {} in {}", label == RawNumber::kInt ? "an" : "a",
                     name(label), Counted(dense_width, fmt::format("{} number", name(dense))),
                     Counted(keys(), "key"), Counted(slot_keys.size(), "slot"));
}

std::string RawLayout::KeysText() const {
  constexpr size_t kShown = 32;
  const auto shown = std::span(slot_keys).first(std::min(slot_keys.size(), kShown));
  return fmt::format("keys {}{}", fmt::join(shown, ", "), slot_keys.size() > kShown ? ", ..." : "");
}

}  // namespace strata
