#include "worker/gbdt/data/feature_names.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/human_text.h"

namespace strata {

std::string ModelFeatureName(std::string_view name) {
  constexpr std::string_view kReplaced = " \r\n\",:[]{}";
  std::string of_model(name);
  for (char& c : of_model) {
    if (kReplaced.find(c) != std::string_view::npos) c = '_';
  }
  return of_model;
}

Result<std::vector<std::string>> ModelFeatureNames(const std::vector<std::string>& names) {
  std::vector<std::string> of_model;
  of_model.reserve(names.size());
  for (size_t f = 0; f < names.size(); ++f) {
    of_model.push_back(names[f].empty() ? fmt::format("Column_{}", f) : ModelFeatureName(names[f]));
  }
  std::unordered_map<std::string_view, size_t> first_of;
  for (size_t f = 0; f < names.size(); ++f) {
    const auto [first, is_new] = first_of.emplace(of_model[f], f);
    // A model file may hold one name twice. It was read so, and stays so.
    if (is_new || names[first->second] == names[f]) continue;
    return Invalid(fmt::format(
        "features {} and {} are named '{}' and '{}', and both would be '{}' in the model: expected "
        "names that stay different there; rename one of them",
        first->second, f, ShownBytes(names[first->second]), ShownBytes(names[f]),
        ShownBytes(of_model[f])));
  }
  return of_model;
}

}  // namespace strata
