#include "worker/gbdt/catboost/train/category_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

constexpr size_t kBordersMax = 255;

constexpr std::pair<std::string_view, CtrType> kTypes[] = {
    {"Borders", CtrType::kBorders},
    {"Buckets", CtrType::kBuckets},
    {"BinarizedTargetMeanValue", CtrType::kBinarizedTargetMean},
    {"Counter", CtrType::kCounter}};

// Takes what stands before the next `mark` off the text; the whole of it where there is none.
std::string_view TakeBefore(char mark, std::string_view* text) {
  const size_t end = text->find(mark);
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  return part;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

Result<size_t> ReadCount(std::string_view name, std::string_view value) {
  size_t count = 0;
  if (ReadNumber(value, &count) && count >= 1 && count <= kBordersMax) return count;
  return Invalid(fmt::format("{}: expected a whole number from 1 to {}, found '{}'", name,
                             kBordersMax, ShownBytes(value)));
}

// "1/1", or the numerator alone.
Result<float> ReadPrior(std::string_view value) {
  std::string_view rest = value;
  float numerator = 0;
  float denominator = 1;
  const bool is_number = ReadNumber(TakeBefore('/', &rest), &numerator) &&
                         (rest.empty() || ReadNumber(rest, &denominator));
  if (is_number && std::isfinite(numerator) && denominator == 1) return numerator;
  return Invalid(
      fmt::format("Prior: expected a number over 1, as 0.5/1, found '{}': other denominators are "
                  "for training on GPUs",
                  ShownBytes(value)));
}

// One option of a description; `priors` gets those that it names.
Status ReadOption(std::string_view option, CtrDescription* description,
                  std::vector<float>* priors) {
  std::string_view value = option;
  const std::string_view name = TakeBefore('=', &value);
  const std::string lower = LowerCase(name);
  if (lower == "prior") {
    STRATA_ASSIGN(const float prior, ReadPrior(value));
    priors->push_back(prior);
    return {};
  }
  if (lower == "ctrbordercount") {
    STRATA_ASSIGN(description->border_count, ReadCount(name, value));
    return {};
  }
  if (lower == "ctrbordertype") {
    if (value == "Uniform") return {};
    return Invalid(fmt::format("{}: expected Uniform, found '{}': others are for training on GPUs",
                               name, ShownBytes(value)));
  }
  if (lower != "targetbordercount" && lower != "targetbordertype") {
    return Invalid(fmt::format(
        "expected the option Prior, CtrBorderCount, CtrBorderType, TargetBorderCount or "
        "TargetBorderType, found '{}'",
        ShownBytes(option)));
  }
  if (description->type == CtrType::kCounter) {
    return Invalid(fmt::format("{} has no effect on Counter: remove it", name));
  }
  if (lower == "targetbordercount") {
    STRATA_ASSIGN(description->target_border_count, ReadCount(name, value));
    return {};
  }
  const std::optional<BorderType> type = FindBorderType(value);
  if (!type.has_value()) {
    return Invalid(
        fmt::format("{}: expected MinEntropy, MaxLogSum, GreedyLogSum, Median, Uniform or "
                    "UniformAndQuantiles, found '{}'",
                    name, ShownBytes(value)));
  }
  description->target_border_type = *type;
  return {};
}

Result<CtrDescription> ReadDescription(std::string_view text) {
  const std::string_view name = TakeBefore(':', &text);
  const auto* const type =
      std::ranges::find(kTypes, name, &std::pair<std::string_view, CtrType>::first);
  if (type == std::end(kTypes)) {
    return Invalid(
        fmt::format("expected Borders, Buckets, BinarizedTargetMeanValue or Counter, found '{}'",
                    ShownBytes(name)));
  }
  CtrDescription description = {.type = type->second};
  if (type->second == CtrType::kCounter) description.priors = {0};
  std::vector<float> priors;
  while (!text.empty()) {
    const Status read = ReadOption(TakeBefore(':', &text), &description, &priors);
    if (!read.ok()) return read.Prefixed(std::string(name));
  }
  if (!priors.empty()) description.priors = std::move(priors);
  return description;
}

// False: CatBoost's file, which has one table of a type, cannot hold both.
bool HaveOneTable(const CtrDescription& a, const CtrDescription& b) {
  return a.type != b.type || (a.target_border_count == b.target_border_count &&
                              a.target_border_type == b.target_border_type);
}

}  // namespace

Result<std::vector<CtrDescription>> ParseCtrDescriptions(std::string_view text) {
  std::vector<CtrDescription> descriptions;
  for (bool more = true; more;) {
    more = text.find(',') != text.npos;
    const std::string_view part = TakeBefore(',', &text);
    STRATA_ASSIGN(descriptions.emplace_back(), ReadDescription(part));
    for (const CtrDescription& other : descriptions) {
      if (HaveOneTable(other, descriptions.back())) continue;
      return Invalid(
          fmt::format("{} is given with different borders of the target: a model has one table of "
                      "a type: expected the same TargetBorderCount and TargetBorderType",
                      part.substr(0, part.find(':'))));
    }
  }
  return descriptions;
}

Result<std::map<size_t, std::vector<CtrDescription>>> ParsePerFeatureCtrs(std::string_view text) {
  std::map<size_t, std::vector<CtrDescription>> found;
  do {
    std::string_view rest = TakeBefore(';', &text);
    const std::string_view feature = TakeBefore(':', &rest);
    size_t place = 0;
    if (!ReadNumber(feature, &place)) {
      return Invalid(
          fmt::format("expected the place of a feature and a colon, as 0:Borders, found '{}'",
                      ShownBytes(feature)));
    }
    if (found.contains(place)) {
      return Invalid(fmt::format("feature {} is given twice: give it once", place));
    }
    STRATA_ASSIGN(found[place], ParseCtrDescriptions(rest));
  } while (!text.empty());
  return found;
}

}  // namespace strata
