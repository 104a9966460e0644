#include "worker/gbdt/engine/forced_splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/log.h"
#include "worker/gbdt/model/json_at.h"

namespace strata {
namespace {

using nlohmann::json;

bool IsAbsent(const json& node, const char* child) {
  const auto found = node.find(child);
  return found == node.end() || found->is_null() || (found->is_object() && found->empty());
}

class Reader {
 public:
  Reader(const GrowthParameters& p, const FeatureBinning& features,
         std::span<const FeatureShape> shapes)
      : p_(p), features_(features), shapes_(shapes) {}

  Result<std::vector<ForcedSplit>> Read(const json& root) {
    due_.push_back({.node = &root, .where = "the root"});
    for (size_t i = 0; i < due_.size(); ++i) STRATA_TRY(ReadNext(i));
    const auto most = static_cast<size_t>(p_.num_leaves) - 1;
    if (splits_.size() > most) {
      return Invalid(fmt::format("{}: {} splits: expected at most {}, as num_leaves = {}",
                                 p_.forcedsplits_filename, splits_.size(), most, p_.num_leaves));
    }
    return std::move(splits_);
  }

 private:
  struct Due {
    const json* node;
    std::string where;
    int64_t depth = 1;
    uint64_t interactions = ~uint64_t{0};
  };

  Status Wrong(const Due& due, const std::string& what) const {
    return Invalid(fmt::format("{}: {}: {}", p_.forcedsplits_filename, due.where, what));
  }

  Status ReadNext(size_t at) {
    Due due = due_[at];
    const json& node = *due.node;
    if (!node.is_object() || !node.contains("feature") || !node.contains("threshold") ||
        !node["feature"].is_number_integer() || !node["threshold"].is_number()) {
      return Wrong(due,
                   "expected an object with a whole number as 'feature' and a number as "
                   "'threshold'");
    }
    for (const auto& [key, value] : node.items()) {
      if (key == "feature" || key == "threshold" || key == "left" || key == "right") continue;
      return Wrong(due, fmt::format("unknown key '{}': expected feature, threshold, left and right",
                                    ShownBytes(key)));
    }
    const auto feature = node["feature"].get<int64_t>();
    const auto features = static_cast<int64_t>(features_.names.size());
    if (feature < 0 || feature >= features) {
      return Wrong(due, fmt::format("feature: expected 0 to {}, found {}", features - 1, feature));
    }
    const auto used = std::ranges::find(features_.used, static_cast<size_t>(feature));
    if (used == features_.used.end()) {
      return Wrong(due, fmt::format("feature {} ({}) has one value alone in the data, or is left "
                                    "out by feature_pre_filter or ignore_column: it cannot be "
                                    "split",
                                    feature, features_.names[static_cast<size_t>(feature)]));
    }
    if (p_.max_depth > 0 && due.depth > p_.max_depth) {
      return Wrong(due, fmt::format("expected at most {} levels, as max_depth says", p_.max_depth));
    }
    ForcedSplit split{.feature = static_cast<size_t>(used - features_.used.begin())};
    STRATA_ASSIGN(split.bin, BinOf(due, split.feature, node["threshold"].get<double>()));
    due.interactions &= shapes_[split.feature].interactions;
    if (due.interactions == 0) {
      return Wrong(due, fmt::format("feature {} is in no set of interaction_constraints together "
                                    "with those above it",
                                    feature));
    }
    split.text = TextOf(due, split, node["threshold"].get<double>());
    split.left = Add(due, node, "left");
    split.right = Add(due, node, "right");
    splits_.push_back(split);
    return {};
  }

  Result<uint32_t> BinOf(const Due& due, size_t feature, double threshold) const {
    const BinMapper& mapper = features_.mapper(feature);
    if (!std::isfinite(threshold)) return Wrong(due, "threshold: expected a finite number");
    const uint32_t bin = mapper.BinOf(threshold);
    if (mapper.shape().categorical && bin == 0) {
      return Wrong(due, fmt::format("threshold: feature {} has no category {} of its own",
                                    features_.names[features_.used[feature]], threshold));
    }
    return bin;
  }

  std::string TextOf(const Due& due, const ForcedSplit& split, double threshold) const {
    const size_t feature = features_.used[split.feature];
    const BinMapper& mapper = features_.mapper(split.feature);
    std::string text =
        fmt::format("{}: {}: feature {} ({}), threshold {}", p_.forcedsplits_filename, due.where,
                    feature, features_.names[feature], threshold);
    if (!mapper.shape().categorical && split.bin == mapper.value_bounds().size()) {
      text += ", which is in the last bin (forcedbins_filename can end a bin there)";
    }
    return text;
  }

  // The place that a child will have among the splits; -1: there is none.
  int32_t Add(const Due& due, const json& node, const char* child) {
    if (IsAbsent(node, child)) return -1;
    due_.push_back({.node = &node[child],
                    .where = fmt::format("{}.{}", due.where, child),
                    .depth = due.depth + 1,
                    .interactions = due.interactions});
    return static_cast<int32_t>(due_.size() - 1);
  }

  const GrowthParameters& p_;
  const FeatureBinning& features_;
  const std::span<const FeatureShape> shapes_;
  std::vector<Due> due_;  // level by level
  std::vector<ForcedSplit> splits_;
};

}  // namespace

Result<std::vector<ForcedSplit>> ReadForcedSplits(std::string_view text, const GrowthParameters& p,
                                                  const FeatureBinning& features,
                                                  std::span<const FeatureShape> shapes) {
  if (p.forcedsplits_filename.empty()) return std::vector<ForcedSplit>{};
  const Result<json> root =
      ParseJson(text, p.forcedsplits_filename, std::numeric_limits<int>::max());
  if (!root.ok()) return Invalid(root.status().message());
  return Reader(p, features, shapes).Read(*root);
}

void UnmadeSplits::Warn(size_t forced, std::string_view why) {
  if (!warned_.insert(forced).second) return;
  Log(LogLevel::kWarning,
      "{}: the split is not made: {}. Each tree where this is so goes on by itself, without the "
      "forced splits after it",
      splits_[forced].text, why);
}

}  // namespace strata
