#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "worker/gbdt/model/xgboost_json.h"

namespace strata {
namespace {

// What stands for an objective of ours there.
struct Objective {
  std::string_view ours;
  std::string_view theirs;
  std::string_view parameters;  // members of the object beside its name
  double neutral;               // the base_score that adds nothing
};
constexpr std::string_view kRegression = R"("reg_loss_param":{"scale_pos_weight":"1"})";
constexpr Objective kObjectives[] = {
    {"", "reg:squarederror", kRegression, 0},
    {"none", "reg:squarederror", kRegression, 0},
    {"custom", "reg:squarederror", kRegression, 0},
    {"regression", "reg:squarederror", kRegression, 0},
    {"huber", "reg:squarederror", kRegression, 0},
    {"fair", "reg:squarederror", kRegression, 0},
    {"quantile", "reg:squarederror", kRegression, 0},
    {"mape", "reg:squarederror", kRegression, 0},
    {"regression_l1", "reg:absoluteerror", "", 0},
    {"binary", "binary:logistic", kRegression, 0.5},
    {"cross_entropy", "reg:logistic", kRegression, 0.5},
    {"poisson", "count:poisson", R"("poisson_regression_param":{"max_delta_step":"0.7"})", 1},
    {"gamma", "reg:gamma", kRegression, 1},
    {"tweedie", "reg:tweedie", R"("tweedie_regression_param":{"tweedie_variance_power":"1.5"})", 1},
    {"multiclass", "multi:softprob", "", 0},
    {"lambdarank", "rank:ndcg", R"("lambdarank_param":{})", 0},
    {"rank_xendcg", "rank:ndcg", R"("lambdarank_param":{})", 0}};

// The smallest float above the threshold, which may be infinity: floats are below it where they are
// not above ours.
float ThresholdFor(double threshold) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  auto rounded = static_cast<float>(std::clamp<double>(threshold, -kLargest, kLargest));
  if (static_cast<double>(rounded) <= threshold) {
    rounded = std::nextafter(rounded, std::numeric_limits<float>::infinity());
  }
  return rounded;
}

bool AreDefaultNames(const std::vector<std::string>& names) {
  for (size_t f = 0; f < names.size(); ++f) {
    if (names[f] != fmt::format("Column_{}", f)) return false;
  }
  return true;
}

// XGBoost tells numbers from integers by the point, and reads what is larger than a float as
// infinity, for which JSON has no word.
std::string Join(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) {
    if (!text.empty()) text += ',';
    const std::string digits = std::isinf(number) ? "1e39" : fmt::format("{}", number);
    text += digits;
    if (digits.find_first_of(".e") == std::string::npos) text += ".0";
  }
  return text;
}

// One tree's arrays, a node in the order of levels.
struct Arrays {
  std::vector<int32_t> left, right, parent, feature, default_left, type;
  std::vector<float> condition, gain, weight, hessian;
  std::vector<uint32_t> categories;
  std::vector<size_t> categories_nodes, categories_begins, categories_sizes;
};

class Writer {
 public:
  explicit Writer(const TreeModel& model) : model_(model) {}

  Result<std::string> Write() {
    const auto* const objective =
        std::ranges::find(kObjectives, model_.ObjectiveName(), &Objective::ours);
    if (objective == std::end(kObjectives) || model_.objective.find(" sqrt") != std::string::npos) {
      return Invalid(
          fmt::format("objective '{}' is one that XGBoost does not have", model_.objective));
    }
    if (model_.classes > 1 && objective->theirs != "multi:softprob") {
      return Invalid(fmt::format("{} trees a round of objective '{}', of which XGBoost has one",
                                 model_.classes, model_.objective));
    }
    if (model_.ObjectiveName() == "binary") {
      STRATA_ASSIGN(scale_, model_.Sigmoid());
    }
    if (model_.average_output && model_.iterations() > 0) {
      scale_ /= static_cast<double>(model_.iterations());
    }
    // "3:1:0", where a number has "[0:1]".
    for (size_t f = 0; f < model_.features(); ++f) {
      const std::string info = f < model_.feature_infos.size() ? model_.feature_infos[f] : "";
      categorical_.push_back(!info.empty() && info[0] >= '0' && info[0] <= '9');
    }
    std::vector<std::string> trees;
    for (size_t i = 0; i < model_.trees.size(); ++i) {
      const size_t t = TreeAt(i);
      STRATA_ASSIGN(const Arrays arrays, ArraysOf(model_.trees[t], t));
      trees.push_back(TreeText(arrays, i));
    }
    return ModelText(*objective, trees);
  }

 private:
  size_t parallel() const { return model_.trees_per_iteration / model_.classes; }

  // Which of our trees is the i-th there, where a round has all parallel trees of a class together.
  size_t TreeAt(size_t i) const {
    const size_t in_round = i % model_.trees_per_iteration;
    return i - in_round + in_round % parallel() * model_.classes + in_round / parallel();
  }

  Result<Arrays> ArraysOf(const Tree& tree, size_t number) {
    Arrays arrays;
    struct Open {
      int32_t ours;
      int32_t parent;
    };
    std::vector<Open> open = {{tree.nodes.empty() ? ~0 : 0, std::numeric_limits<int32_t>::max()}};
    for (size_t i = 0; i < open.size(); ++i) {
      const Open next = open[i];
      arrays.parent.push_back(next.parent);
      if (next.ours < 0) {
        AddLeaf(tree.leaves[static_cast<size_t>(~next.ours)], &arrays);
        continue;
      }
      const TreeNode& node = tree.nodes[static_cast<size_t>(next.ours)];
      const auto place = static_cast<int32_t>(open.size());
      arrays.left.push_back(place);
      arrays.right.push_back(place + 1);
      // Categories that are listed go right there, and left here.
      open.push_back({node.categorical ? node.right : node.left, static_cast<int32_t>(i)});
      open.push_back({node.categorical ? node.left : node.right, static_cast<int32_t>(i)});
      const Status status = AddNode(tree, node, &arrays);
      if (!status.ok()) return status.Prefixed(fmt::format("tree {}", number));
    }
    return arrays;
  }

  void AddLeaf(const TreeLeaf& leaf, Arrays* arrays) const {
    arrays->left.push_back(-1);
    arrays->right.push_back(-1);
    arrays->feature.push_back(0);
    arrays->default_left.push_back(0);
    arrays->type.push_back(0);
    arrays->condition.push_back(Float(leaf.value * scale_));
    arrays->gain.push_back(0);
    arrays->weight.push_back(arrays->condition.back());
    arrays->hessian.push_back(Float(leaf.weight));
  }

  Status AddNode(const Tree& tree, const TreeNode& node, Arrays* arrays) {
    bool default_left = node.default_left;
    if (node.categorical) {
      default_left = !node.default_left;
      categorical_[static_cast<size_t>(node.feature)] = true;
      STRATA_TRY(AddCategories(tree, static_cast<size_t>(node.threshold), arrays));
    } else if (node.missing != MissingKind::kNaN) {
      const bool zero_left = node.threshold >= 0;
      if (node.missing == MissingKind::kZero && zero_left != default_left) {
        return Invalid("a split takes zero as missing, which XGBoost's format cannot say");
      }
      default_left = zero_left;  // a missing value is a zero
    }
    arrays->feature.push_back(node.feature);
    arrays->default_left.push_back(default_left ? 1 : 0);
    arrays->type.push_back(node.categorical ? 1 : 0);
    arrays->condition.push_back(node.categorical ? 0 : ThresholdFor(node.threshold));
    arrays->gain.push_back(Float(node.gain));
    arrays->weight.push_back(Float(node.value * scale_));
    arrays->hessian.push_back(Float(node.weight));
    return {};
  }

  static Status AddCategories(const Tree& tree, size_t set, Arrays* arrays) {
    constexpr uint32_t kCategories = 1 << 24;
    arrays->categories_nodes.push_back(arrays->type.size());
    arrays->categories_begins.push_back(arrays->categories.size());
    for (uint32_t word = tree.set_begins[set]; word < tree.set_begins[set + 1]; ++word) {
      for (uint32_t bits = tree.set_words[word]; bits != 0; bits &= bits - 1) {
        const uint32_t category =
            (word - tree.set_begins[set]) * 32 + static_cast<uint32_t>(std::countr_zero(bits));
        if (category >= kCategories) {
          return Invalid(
              fmt::format("category {}: XGBoost takes those below {}", category, kCategories));
        }
        arrays->categories.push_back(category);
      }
    }
    arrays->categories_sizes.push_back(arrays->categories.size() -
                                       arrays->categories_begins.back());
    return {};
  }

  static float Float(double value) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    return std::isnan(value) ? 0 : static_cast<float>(std::clamp(value, -kLargest, kLargest));
  }

  std::string TreeText(const Arrays& a, size_t number) const {
    return fmt::format(
        R"({{"base_weights":[{}],"categories":[{}],"categories_nodes":[{}],)"
        R"("categories_segments":[{}],"categories_sizes":[{}],"default_left":[{}],"id":{},)"
        R"("left_children":[{}],"loss_changes":[{}],"parents":[{}],"right_children":[{}],)"
        R"("split_conditions":[{}],"split_indices":[{}],"split_type":[{}],"sum_hessian":[{}],)"
        R"("tree_param":{{"num_deleted":"0","num_feature":"{}","num_nodes":"{}",)"
        R"("size_leaf_vector":"1"}}}})",
        Join(a.weight), fmt::join(a.categories, ","), fmt::join(a.categories_nodes, ","),
        fmt::join(a.categories_begins, ","), fmt::join(a.categories_sizes, ","),
        fmt::join(a.default_left, ","), number, fmt::join(a.left, ","), Join(a.gain),
        fmt::join(a.parent, ","), fmt::join(a.right, ","), Join(a.condition),
        fmt::join(a.feature, ","), fmt::join(a.type, ","), Join(a.hessian), model_.features(),
        a.left.size());
  }

  std::string ModelText(const Objective& objective, const std::vector<std::string>& trees) const {
    const size_t classes = model_.classes;
    const bool multiclass = objective.theirs == "multi:softprob";
    std::vector<size_t> class_of;
    std::vector<size_t> begins = {0};
    for (size_t i = 0; i < trees.size(); ++i) {
      class_of.push_back(TreeAt(i) % classes);
      if ((i + 1) % model_.trees_per_iteration == 0) begins.push_back(i + 1);
    }
    // Names that nobody gave would have XGBoost turn away data without names.
    const bool named = !AreDefaultNames(model_.feature_names);
    std::vector<std::string> names;
    std::vector<std::string> types;
    for (size_t f = 0; f < model_.features(); ++f) {
      if (named)
        names.push_back(nlohmann::json(model_.feature_names[f])
                            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      types.emplace_back(categorical_[f] ? R"("c")" : R"("float")");
    }
    const std::string parameters =
        multiclass ? fmt::format(R"("softmax_multiclass_param":{{"num_class":"{}"}})", classes)
                   : std::string(objective.parameters);
    return fmt::format(
        R"({{"learner":{{"attributes":{{}},"feature_names":[{}],"feature_types":[{}],)"
        R"("gradient_booster":{{"model":{{"gbtree_model_param":{{"num_parallel_tree":"{}",)"
        R"("num_trees":"{}"}},"iteration_indptr":[{}],"tree_info":[{}],"trees":[{}]}},)"
        R"("name":"gbtree"}},"learner_model_param":{{"base_score":"{}",)"
        R"("boost_from_average":"1","num_class":"{}","num_feature":"{}","num_target":"1"}},)"
        R"("objective":{{"name":"{}"{}{}}}}},"version":[3,0,0]}})"
        "\n",
        fmt::join(names, ","), fmt::join(types, ","), parallel(), trees.size(),
        fmt::join(begins, ","), fmt::join(class_of, ","), fmt::join(trees, ","), objective.neutral,
        multiclass ? classes : 0, model_.features(), objective.theirs,
        parameters.empty() ? "" : ",", parameters);
  }

  const TreeModel& model_;
  double scale_ = 1;               // of leaves
  std::vector<bool> categorical_;  // by feature
};

}  // namespace

Result<std::string> WriteXgboostJson(const TreeModel& model) { return Writer(model).Write(); }

}  // namespace strata
