#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/core/math.h"
#include "worker/gbdt/model/json_at.h"
#include "worker/gbdt/model/xgboost_json.h"

namespace strata {
namespace {

constexpr int64_t kNodesMax = 2 * static_cast<int64_t>(kTreeLeavesMax);
constexpr int64_t kFeaturesMax = 1 << 24;
constexpr int64_t kClassesMax = 1 << 20;
constexpr int64_t kParallelMax = 1 << 20;
constexpr int64_t kCategoryMax = (1 << 24) - 1;  // XGBoost's own
constexpr size_t kSetWordsMax = 16 << 20;        // of the model

// How base_score and scores relate.
enum class Link : uint8_t { kIdentity, kLogit, kLog };

struct Objective {
  std::string_view theirs;
  std::string_view ours;
  Link link;
  bool has_our_loss = true;  // false: ours predicts the same, but is another loss
};
constexpr Objective kObjectives[] = {{"reg:squarederror", "regression", Link::kIdentity},
                                     {"reg:linear", "regression", Link::kIdentity},
                                     {"reg:squaredlogerror", "regression", Link::kIdentity, false},
                                     {"reg:absoluteerror", "regression_l1", Link::kIdentity},
                                     {"reg:pseudohubererror", "huber", Link::kIdentity, false},
                                     {"reg:quantileerror", "quantile", Link::kIdentity},
                                     {"reg:logistic", "cross_entropy", Link::kLogit},
                                     {"reg:gamma", "gamma", Link::kLog},
                                     {"reg:tweedie", "tweedie", Link::kLog},
                                     {"count:poisson", "poisson", Link::kLog},
                                     {"binary:logistic", "binary sigmoid:1", Link::kLogit},
                                     {"multi:softprob", "multiclass", Link::kIdentity},
                                     {"rank:ndcg", "lambdarank", Link::kIdentity},
                                     {"rank:map", "lambdarank", Link::kIdentity, false},
                                     {"rank:pairwise", "lambdarank", Link::kIdentity, false}};

// The largest double that, rounded to float, is below the threshold.
double ThresholdFor(float threshold) {
  if (std::isinf(threshold)) return threshold;
  const float below = std::nextafter(threshold, -std::numeric_limits<float>::infinity());
  if (std::isinf(below)) return -0x1.ffffffp127;  // rounds to minus infinity
  const double middle = (static_cast<double>(below) + static_cast<double>(threshold)) / 2;
  if (static_cast<float>(middle) < threshold) return middle;
  return std::nextafter(middle, -std::numeric_limits<double>::infinity());
}

// The arrays of one tree, by XGBoost's node.
struct Arrays {
  std::vector<int64_t> left;
  std::vector<int64_t> right;
  std::vector<int64_t> feature;
  std::vector<double> condition;  // threshold, or a leaf's value
  std::vector<int64_t> default_left;
  std::vector<int64_t> categorical;
  std::vector<double> gain;
  std::vector<double> weight;
  std::vector<double> hessian;
  std::vector<std::vector<int64_t>> categories;  // that go right
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Result<TreeModel> Read(const nlohmann::json& document) {
    STRATA_ASSIGN(const JsonAt learner, JsonAt(document, name_ + ": ").At("learner"));
    STRATA_TRY(ReadParameters(learner));
    STRATA_ASSIGN(const JsonAt booster, learner.At("gradient_booster"));
    STRATA_TRY(ReadTrees(booster));
    AddBases();
    return std::move(model_);
  }

 private:
  Status ReadParameters(const JsonAt& learner) {
    STRATA_ASSIGN(const JsonAt parameters, learner.At("learner_model_param"));
    STRATA_ASSIGN(const JsonAt features, parameters.At("num_feature"));
    STRATA_ASSIGN(const int64_t count, features.Whole(0, kFeaturesMax));
    STRATA_TRY(ReadNames(learner, static_cast<size_t>(count)));
    int64_t classes = 0;
    if (parameters.Has("num_class")) {
      STRATA_ASSIGN(const JsonAt at, parameters.At("num_class"));
      STRATA_ASSIGN(classes, at.Whole(0, kClassesMax));
    }
    if (parameters.Has("num_target")) {
      STRATA_ASSIGN(const JsonAt at, parameters.At("num_target"));
      STRATA_ASSIGN(const int64_t targets, at.Whole(0, kClassesMax));
      if (targets > 1) return Unsupported(at, fmt::format("{} targets", targets));
    }
    model_.classes = static_cast<size_t>(std::max<int64_t>(1, classes));
    STRATA_ASSIGN(const JsonAt objective, learner.At("objective"));
    STRATA_ASSIGN(const JsonAt name_at, objective.At("name"));
    STRATA_ASSIGN(const std::string name, name_at.Text());
    const auto* const known = std::ranges::find(kObjectives, name, &Objective::theirs);
    if (known == std::end(kObjectives)) {
      return Unsupported(name_at, fmt::format("objective {}", name));
    }
    model_.objective = known->ours;
    if (!known->has_our_loss) model_.foreign_loss = "XGBoost's " + name;
    if (known->ours == "multiclass") {
      model_.objective += fmt::format(" num_class:{}", model_.classes);
    }
    STRATA_ASSIGN(const JsonAt base, parameters.At("base_score"));
    return ReadBases(base, known->link);
  }

  Status ReadNames(const JsonAt& learner, size_t count) {
    for (size_t f = 0; f < count; ++f) {
      model_.feature_names.push_back(fmt::format("Column_{}", f));
    }
    model_.feature_infos.assign(count, "none");
    if (!learner.Has("feature_names")) return {};
    STRATA_ASSIGN(const JsonAt at, learner.At("feature_names"));
    STRATA_ASSIGN(const std::vector<JsonAt> names, at.Items());
    if (names.empty()) return {};
    if (names.size() != count) {
      return at.Wrong(fmt::format("expected {} names, found {}", count, names.size()));
    }
    for (size_t f = 0; f < count; ++f) {
      STRATA_ASSIGN(model_.feature_names[f], names[f].Text());
    }
    return {};
  }

  // "5E-1", or since XGBoost 3.1 "[5E-1]", a number a class.
  Status ReadBases(const JsonAt& at, Link link) {
    const Result<double> one = at.Number();
    std::vector<double> values;
    if (one.ok()) {
      values = {*one};
    } else {
      STRATA_ASSIGN(const std::string text, at.Text());
      STRATA_ASSIGN(const nlohmann::json list, ParseJson(text, at.where()));
      STRATA_ASSIGN(values, JsonAt(list, at.where()).NumberList(list.size()));
    }
    if (values.size() != 1 && values.size() != model_.classes) {
      return at.Wrong(fmt::format("expected {} numbers, found {}", model_.classes, values.size()));
    }
    for (double& value : values) {
      const bool fits = link == Link::kIdentity || (value > 0 && (link == Link::kLog || value < 1));
      if (!fits) return at.Wrong(fmt::format("{} is no mean of the objective", value));
      if (link == Link::kLogit) value = math::Log(value / (1 - value));
      if (link == Link::kLog) value = math::Log(value);
    }
    values.resize(model_.classes, values[0]);
    bases_ = std::move(values);
    return {};
  }

  Status Unsupported(const JsonAt& at, const std::string& what) const {
    return Invalid(fmt::format("{}: {} is not supported", at.where(), what));
  }

  Status ReadTrees(const JsonAt& booster) {
    STRATA_ASSIGN(const JsonAt name_at, booster.At("name"));
    STRATA_ASSIGN(const std::string name, name_at.Text());
    if (name != "gbtree" && name != "dart") {
      return Unsupported(name_at, fmt::format("booster {}", name));
    }
    JsonAt holder = booster;
    if (name == "dart") {
      STRATA_ASSIGN(holder, booster.At("gbtree"));
    }
    STRATA_ASSIGN(const JsonAt model, holder.At("model"));
    STRATA_ASSIGN(const JsonAt trees_at, model.At("trees"));
    STRATA_ASSIGN(const std::vector<JsonAt> trees, trees_at.Items());
    STRATA_ASSIGN(const JsonAt info_at, model.At("tree_info"));
    STRATA_ASSIGN(const std::vector<int64_t> class_of,
                  info_at.WholeList(trees.size(), 0, static_cast<int64_t>(model_.classes) - 1));
    std::vector<double> weights(trees.size(), 1);
    if (name == "dart") {
      STRATA_ASSIGN(const JsonAt weights_at, booster.At("weight_drop"));
      STRATA_ASSIGN(weights, weights_at.NumberList(trees.size()));
    }
    std::vector<std::vector<Tree>> by_class(model_.classes);
    for (size_t t = 0; t < trees.size(); ++t) {
      STRATA_ASSIGN(Tree tree, ReadTree(trees[t]));
      for (TreeLeaf& leaf : tree.leaves) {
        leaf.value *= weights[t];
        if (!std::isfinite(leaf.value)) return trees[t].Wrong("a leaf is not finite");
      }
      by_class[static_cast<size_t>(class_of[t])].push_back(std::move(tree));
    }
    for (const std::vector<Tree>& of_class : by_class) {
      if (of_class.size() == by_class[0].size()) continue;
      return info_at.Wrong(
          fmt::format("classes have {} and {} trees", by_class[0].size(), of_class.size()));
    }
    for (size_t i = 0; i < by_class[0].size(); ++i) {
      for (std::vector<Tree>& of_class : by_class) model_.trees.push_back(std::move(of_class[i]));
    }
    return ReadRounds(model);
  }

  // How many trees a round has: num_parallel_tree for each class.
  Status ReadRounds(const JsonAt& model) {
    const size_t trees = model_.trees.size();
    int64_t parallel = 1;
    if (model.Has("gbtree_model_param")) {
      STRATA_ASSIGN(const JsonAt parameters, model.At("gbtree_model_param"));
      if (parameters.Has("num_parallel_tree")) {
        STRATA_ASSIGN(const JsonAt at, parameters.At("num_parallel_tree"));
        STRATA_ASSIGN(parallel, at.Whole(0, kParallelMax));
      }
    }
    model_.trees_per_iteration =
        model_.classes * static_cast<size_t>(std::max<int64_t>(1, parallel));
    if (trees % model_.trees_per_iteration != 0) {
      return model.Wrong(
          fmt::format("{} trees are no whole rounds of {} classes with num_parallel_tree = {}",
                      trees, model_.classes, parallel));
    }
    if (!model.Has("iteration_indptr")) return {};
    STRATA_ASSIGN(const JsonAt at, model.At("iteration_indptr"));
    STRATA_ASSIGN(const std::vector<JsonAt> items, at.Items());
    STRATA_ASSIGN(const std::vector<int64_t> begins,
                  at.WholeList(items.size(), 0, static_cast<int64_t>(trees)));
    for (size_t round = 0; round < begins.size(); ++round) {
      const auto begin = static_cast<int64_t>(round * model_.trees_per_iteration);
      if (begins[round] == begin) continue;
      return at.Wrong(
          fmt::format("round {} begins with tree {}, expected {}", round, begins[round], begin));
    }
    return {};
  }

  Result<Tree> ReadTree(const JsonAt& at) {
    STRATA_ASSIGN(const Arrays arrays, ReadArrays(at));
    // Nodes that XGBoost has pruned are not reached.
    Tree tree;
    std::vector<bool> seen(arrays.left.size(), false);
    struct Open {
      int64_t theirs;
      int32_t parent;
      bool is_left;
    };
    std::vector<Open> open = {{0, -1, true}};
    for (size_t i = 0; i < open.size(); ++i) {
      const Open next = open[i];
      const auto theirs = static_cast<size_t>(next.theirs);
      if (theirs >= seen.size()) {
        return at.Wrong(fmt::format("child {}: the tree has {} nodes", theirs, seen.size()));
      }
      if (seen[theirs]) return at.Wrong(fmt::format("node {} has two parents", theirs));
      seen[theirs] = true;
      const bool is_leaf = arrays.left[theirs] == -1;
      const auto ours = static_cast<int32_t>(is_leaf ? tree.leaves.size() : tree.nodes.size());
      if (next.parent >= 0) {
        TreeNode& parent = tree.nodes[static_cast<size_t>(next.parent)];
        (next.is_left ? parent.left : parent.right) = is_leaf ? ~ours : ours;
      }
      if (is_leaf) {
        tree.leaves.push_back(
            {.value = arrays.condition[theirs], .weight = arrays.hessian[theirs], .rows = 0});
        continue;
      }
      if (arrays.right[theirs] == -1) {
        return at.Wrong(fmt::format("node {} has one child", theirs));
      }
      STRATA_ASSIGN(const TreeNode node, ReadNode(at, arrays, theirs, &tree));
      tree.nodes.push_back(node);
      // Categories that are listed go right there, and left here.
      open.push_back({arrays.left[theirs], ours, !node.categorical});
      open.push_back({arrays.right[theirs], ours, node.categorical});
    }
    STRATA_TRY(CheckTreeShape(tree, at.where()));
    return tree;
  }

  Result<TreeNode> ReadNode(const JsonAt& at, const Arrays& arrays, size_t theirs, Tree* tree) {
    if (arrays.feature[theirs] >= static_cast<int64_t>(model_.features())) {
      return at.Wrong(fmt::format("node {} tests feature {}: the model has {} features", theirs,
                                  arrays.feature[theirs], model_.features()));
    }
    TreeNode node = {.feature = static_cast<int32_t>(arrays.feature[theirs]),
                     .categorical = arrays.categorical[theirs] != 0,
                     .default_left = arrays.default_left[theirs] != 0,
                     .missing = MissingKind::kNaN,
                     .gain = arrays.gain[theirs],
                     .value = arrays.weight[theirs],
                     .weight = arrays.hessian[theirs]};
    if (!node.categorical) {
      const auto threshold = static_cast<float>(arrays.condition[theirs]);
      if (std::isinf(threshold) && threshold < 0)
        return at.Wrong(fmt::format("the threshold of node {}", theirs));
      node.threshold = ThresholdFor(threshold);
      return node;
    }
    node.default_left = !node.default_left;
    node.threshold = static_cast<double>(tree->set_begins.size() - 1);
    const size_t begin = tree->set_words.size();
    for (const int64_t category : arrays.categories[theirs]) {
      const size_t word = begin + static_cast<size_t>(category) / 32;
      if (word >= tree->set_words.size()) {
        set_words_ += word + 1 - tree->set_words.size();
        if (set_words_ > kSetWordsMax) return at.Wrong("the categories of splits are too large");
        tree->set_words.resize(word + 1, 0);
      }
      tree->set_words[word] |= 1U << (category % 32);
    }
    tree->set_begins.push_back(static_cast<uint32_t>(tree->set_words.size()));
    return node;
  }

  Result<Arrays> ReadArrays(const JsonAt& at) const {
    Arrays arrays;
    STRATA_ASSIGN(const JsonAt left, at.At("left_children"));
    STRATA_ASSIGN(const std::vector<JsonAt> items, left.Items());
    const size_t count = items.size();
    if (count < 1 || static_cast<int64_t>(count) > kNodesMax) {
      return left.Wrong(fmt::format("expected 1 to {} nodes, found {}", kNodesMax, count));
    }
    if (at.Has("tree_param")) {
      STRATA_ASSIGN(const JsonAt parameters, at.At("tree_param"));
      if (parameters.Has("size_leaf_vector")) {
        STRATA_ASSIGN(const JsonAt size, parameters.At("size_leaf_vector"));
        STRATA_ASSIGN(const int64_t outputs, size.Whole(0, kClassesMax));
        if (outputs > 1) return Unsupported(size, "a tree of several outputs");
      }
    }
    // Nodes that were pruned hold anything.
    STRATA_ASSIGN(arrays.left, left.WholeList(count, -1, INT32_MAX));
    STRATA_ASSIGN(arrays.right, Whole(at, "right_children", count, -1, INT32_MAX, true));
    STRATA_ASSIGN(arrays.feature, Whole(at, "split_indices", count, 0, INT32_MAX, true));
    STRATA_ASSIGN(arrays.default_left, Whole(at, "default_left", count, 0, 1, true));
    STRATA_ASSIGN(arrays.categorical, Whole(at, "split_type", count, 0, 1, false));
    STRATA_ASSIGN(arrays.condition, Numbers(at, "split_conditions", count, true));
    STRATA_ASSIGN(arrays.gain, Numbers(at, "loss_changes", count, false));
    STRATA_ASSIGN(arrays.weight, Numbers(at, "base_weights", count, false));
    STRATA_ASSIGN(arrays.hessian, Numbers(at, "sum_hessian", count, false));
    STRATA_TRY(ReadCategories(at, &arrays));
    return arrays;
  }

  static Result<std::vector<int64_t>> Whole(const JsonAt& at, const char* key, size_t count,
                                            int64_t min, int64_t max, bool required) {
    if (!required && !at.Has(key)) return std::vector<int64_t>(count, 0);
    STRATA_ASSIGN(const JsonAt list, at.At(key));
    return list.WholeList(count, min, max);
  }

  static Result<std::vector<double>> Numbers(const JsonAt& at, const char* key, size_t count,
                                             bool required) {
    if (!required && !at.Has(key)) return std::vector<double>(count, 0);
    STRATA_ASSIGN(const JsonAt list, at.At(key));
    return list.NumberList(count);
  }

  // categories_nodes[i] has categories[categories_segments[i]] and the next categories_sizes[i].
  static Status ReadCategories(const JsonAt& at, Arrays* arrays) {
    arrays->categories.resize(arrays->left.size());
    if (!at.Has("categories_nodes")) return {};
    STRATA_ASSIGN(const JsonAt nodes_at, at.At("categories_nodes"));
    STRATA_ASSIGN(const std::vector<JsonAt> node_items, nodes_at.Items());
    STRATA_ASSIGN(const JsonAt all_at, at.At("categories"));
    STRATA_ASSIGN(const std::vector<JsonAt> all_items, all_at.Items());
    const auto last = static_cast<int64_t>(arrays->left.size()) - 1;
    const auto size = static_cast<int64_t>(all_items.size());
    const size_t count = node_items.size();
    STRATA_ASSIGN(const auto nodes, nodes_at.WholeList(count, 0, last));
    STRATA_ASSIGN(const auto begins, Whole(at, "categories_segments", count, 0, size, true));
    STRATA_ASSIGN(const auto sizes, Whole(at, "categories_sizes", count, 0, size, true));
    STRATA_ASSIGN(const auto all, all_at.WholeList(all_items.size(), 0, kCategoryMax));
    for (size_t i = 0; i < count; ++i) {
      std::vector<int64_t>& of_node = arrays->categories[static_cast<size_t>(nodes[i])];
      if (begins[i] + sizes[i] > size || !of_node.empty()) {
        return nodes_at.Wrong(
            fmt::format("categories {} to {} of node {}: there are {}, and a node has one part",
                        begins[i], begins[i] + sizes[i], nodes[i], size));
      }
      of_node.assign(all.begin() + begins[i], all.begin() + begins[i] + sizes[i]);
    }
    return {};
  }

  // Into the leaves of the first trees, as LightGBM has it.
  void AddBases() {
    const size_t classes = model_.classes;
    if (model_.trees.empty() && std::ranges::any_of(bases_, [](double b) { return b != 0; })) {
      model_.trees.resize(classes);
      model_.trees_per_iteration = classes;
      for (Tree& tree : model_.trees) tree.leaves.resize(1);
    }
    for (size_t k = 0; k < std::min(classes, model_.trees.size()); ++k) {
      for (TreeLeaf& leaf : model_.trees[k].leaves) leaf.value += bases_[k];
    }
  }

  const std::string& name_;
  TreeModel model_;
  std::vector<double> bases_;  // what the scores of each class begin with
  size_t set_words_ = 0;
};

}  // namespace

Result<TreeModel> ReadXgboostJson(std::string_view text, const std::string& name) {
  STRATA_ASSIGN(const nlohmann::json document, ParseJson(text, name));
  return Reader(name).Read(document);
}

}  // namespace strata
