#include "worker/gbdt/growth_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/human_text.h"

namespace strata {
namespace {

// Reads sets from front to back.
class SetReader {
 public:
  explicit SetReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::vector<int64_t>>> Read() {
    std::vector<std::vector<int64_t>> sets;
    while (!AtEnd()) {
      if (!sets.empty()) STRATA_TRY(Take(','));
      STRATA_TRY(Take('['));
      STRATA_ASSIGN(sets.emplace_back(), ReadSet());
    }
    if (sets.size() > kInteractionSetsMax) {
      return Invalid(fmt::format("interaction_constraints: {} sets: expected at most {}",
                                 sets.size(), kInteractionSetsMax));
    }
    return sets;
  }

 private:
  Result<std::vector<int64_t>> ReadSet() {
    std::vector<int64_t> set;
    do {
      SkipBlanks();
      int64_t feature = -1;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), feature);
      if (error != std::errc() || feature < 0) return Wrong("the number of a feature");
      at_ += static_cast<size_t>(end - begin);
      set.push_back(feature);
    } while (Takes(','));
    STRATA_TRY(Take(']'));
    return set;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  bool Takes(char wanted) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  Status Take(char wanted) {
    return Takes(wanted) ? Status::Ok() : Wrong(fmt::format("'{}'", wanted));
  }
  Status Wrong(const std::string& expected) const {
    return Invalid(fmt::format(
        "interaction_constraints: sets like [0,1,2],[2,3]: expected {} at place {}, found '{}'",
        expected, at_ + 1, ShownBytes(text_.substr(at_), 20)));
  }

  const std::string_view text_;
  size_t at_ = 0;
};

bool IsMonotone(const TreeParameters& p) {
  return std::ranges::any_of(p.monotone_constraints, [](int64_t way) { return way != 0; });
}

std::optional<ParameterConflict> MonotoneConflict(const TreeParameters& p) {
  if (!IsMonotone(p)) return {};
  constexpr std::string_view kRenewed[] = {"regression_l1", "quantile", "mape"};
  if (std::ranges::count(kRenewed, p.objective) > 0) {
    return {{{"monotone_constraints", "objective"},
             fmt::format("monotone_constraints cannot be kept with objective = {}, which gives "
                         "leaves outputs of their own: remove one",
                         p.objective)}};
  }
  if (p.task == "refit") {
    return {
        {{"monotone_constraints"}, "monotone_constraints in task = refit is not supported yet"}};
  }
  if (p.monotone_constraints_method != "basic") {
    if (p.renews_leaves()) {
      return {{{"monotone_constraints_method", "quant_train_renew_leaf"},
               fmt::format("monotone_constraints_method = {} bounds leaves by each other's "
                           "outputs, which quant_train_renew_leaf gives them anew: remove one",
                           p.monotone_constraints_method)}};
    }
    if (p.tree_learner == "voting") {
      return {{{"monotone_constraints_method", "tree_learner"},
               fmt::format("monotone_constraints_method = {} is not supported with tree_learner = "
                           "voting, whose ranks keep no sums of leaves to search them again: set "
                           "tree_learner = data",
                           p.monotone_constraints_method)}};
    }
  }
  if (!p.forcedsplits_filename.empty()) {
    return {{{"forcedsplits_filename", "monotone_constraints"},
             "forcedsplits_filename and monotone_constraints exclude each other, as a forced split "
             "may break a constraint: remove one"}};
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<int64_t>>> InteractionSets(std::string_view text) {
  return SetReader(text).Read();
}

std::optional<ParameterConflict> GrowthConflict(const TreeParameters& p) {
  const auto sets = InteractionSets(p.interaction_constraints);
  if (sets.ok()) return MonotoneConflict(p);
  return {{{"interaction_constraints"}, std::string(sets.status().message())}};
}

const char* GrowsOnHost(const TreeParameters& p) {
  if (!p.forcedsplits_filename.empty()) return "forcedsplits_filename";
  if (!IsMonotone(p) || p.monotone_constraints_method == "basic") return nullptr;
  return p.monotone_constraints_method == "advanced" ? "monotone_constraints_method = advanced"
                                                     : "monotone_constraints_method = intermediate";
}

}  // namespace strata
