#include <fmt/format.h>

#include <algorithm>

#include "base/settings/settings_value.h"

namespace strata {
namespace {

// The optimal string alignment distance: insertions, deletions, substitutions and swaps of
// neighbours (Damerau 1964), by the usual three-row dynamic programme.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substitution, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view LastComponent(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string HintOf(std::string_view nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  // What is meant is rarely more than a third wrong; the bounds also keep long input cheap.
  constexpr size_t kNameLengthMax = 128;
  if (name.empty() || name.size() > kNameLengthMax) return {};
  const size_t dashes = std::min(name.find_first_not_of('-'), name.size());  // of a flag
  const size_t length = name.size() - dashes;
  // A name of one letter would have nothing left.
  size_t least = std::min(length, std::min<size_t>(3, (length + 2) / 3) + 1);
  std::string_view nearest;
  for (std::string_view candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string NearestHint(std::string_view name, std::span<const std::string_view> candidates) {
  return HintOf(NearestName(name, candidates));
}

std::string SuggestName(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view nearest = NearestName(name, candidates);
  if (nearest.empty()) {
    for (std::string_view candidate : candidates) {
      if (LastComponent(candidate) == LastComponent(name)) nearest = candidate;
    }
  }
  return HintOf(nearest);
}

Status UnknownWord(std::string_view kind, std::string_view word,
                   std::span<const std::string> known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  return Invalid(
      fmt::format("unknown {} '{}'{} (see --help)", kind, word, SuggestName(word, candidates)));
}

}  // namespace strata
