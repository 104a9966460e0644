#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <type_traits>

#include "base/human_text.h"
#include "worker/gbdt/model/lightgbm_text.h"

namespace strata {
namespace {

constexpr size_t kClassesMax = 1 << 20;
// The line after the trees of LightGBM before 2.2, which wrote no "end of trees", and the bytes of
// the blank line before it.
constexpr std::string_view kOldEnd = "feature importances:";
constexpr size_t kOldEndBlank = 1;

// Lines of the text, by number.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text), rest_(text) {}

  bool Next(std::string_view* line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    *line = rest_.substr(0, end);
    if (line->ends_with('\r')) line->remove_suffix(1);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    return true;
  }
  uint64_t number() const { return number_; }
  size_t offset() const { return text_.size() - rest_.size(); }  // of the next line
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::string_view rest_;
  uint64_t number_ = 0;
};

// A key's value and the line it was on.
struct Value {
  std::string_view text;
  uint64_t line = 0;
};
using Values = std::map<std::string_view, Value>;

// What a list of T is expected to have.
template <typename T>
constexpr std::string_view kNumbers = std::is_floating_point_v<T> ? "numbers"
                                      : std::is_signed_v<T>       ? "whole numbers"
                                                                  : "whole numbers from 0 on";

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : lines_(text), name_(name) {}

  Result<TreeModel> Read() {
    TreeModel model;
    STRATA_TRY(ReadHeader(&model));
    std::string_view line;
    std::vector<size_t> begins;  // of trees, and the end of the last
    while (true) {
      const size_t begin = lines_.offset();
      if (!lines_.Next(&line)) break;
      if (line == "end of trees") {
        ended_ = true;
        begins.push_back(begin);
        break;
      }
      if (is_old_ && line == kOldEnd) {
        ended_ = true;
        begins.push_back(begin - kOldEndBlank);
        break;
      }
      if (line.starts_with("Tree=")) begins.push_back(begin);
      if (line.empty()) continue;
      if (!line.starts_with("Tree=")) {
        return Wrong(fmt::format("expected Tree= or 'end of trees', found '{}'", ShownBytes(line)));
      }
      STRATA_ASSIGN(Tree tree, ReadTree(model.features()));
      model.trees.push_back(std::move(tree));
    }
    if (!ended_) {
      return Wrong(fmt::format("the text ends before '{}': the file is cut",
                               is_old_ ? kOldEnd : "end of trees"));
    }
    if (model.trees.size() % model.trees_per_iteration != 0) {
      return Wrong(fmt::format("{} trees are no multiple of num_tree_per_iteration = {}",
                               model.trees.size(), model.trees_per_iteration));
    }
    STRATA_TRY(CheckSizes(begins));
    ReadTail(&model);
    return model;
  }

 private:
  // LightGBM finds trees by tree_sizes where it is given, so that another reader of the file must
  // not see others.
  Status CheckSizes(const std::vector<size_t>& begins) const {
    if (tree_sizes_.line == 0) return {};
    const Values values = {{"tree_sizes", tree_sizes_}};
    STRATA_ASSIGN(const auto sizes, List<uint64_t>(values, "tree_sizes", begins.size() - 1, true));
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t size = begins[i + 1] - begins[i];
      if (sizes[i] == size) continue;
      if (lines_.text().substr(begins[i], size).find("\r\n") != std::string_view::npos) {
        return WrongAt(tree_sizes_.line,
                       fmt::format("tree_sizes: tree {} has {} bytes, found {}: lines end with CR "
                                   "LF, expected LF alone, as LightGBM writes and counts",
                                   i, size, sizes[i]));
      }
      return WrongAt(tree_sizes_.line,
                     fmt::format("tree_sizes: tree {} has {} bytes, found {}; remove the line if "
                                 "the trees were edited",
                                 i, size, sizes[i]));
    }
    return {};
  }

  Status Wrong(const std::string& what) const { return WrongAt(lines_.number(), what); }
  Status WrongAt(uint64_t line, const std::string& what) const {
    return Corrupt(fmt::format("{}:{}: {}", name_, line, what));
  }

  Status WrongOf(const Values& values, std::string_view key, const std::string& what) const {
    return WrongAt(values.at(key).line, fmt::format("{}: {}", key, what));
  }

  // key=value lines up to a blank one.
  Status ReadValues(Values* values, bool* average_output) {
    std::string_view line;
    while (lines_.Next(&line) && !line.empty()) {
      // LightGBM 2.0's boost_from_average is a first tree of one value besides.
      if (average_output != nullptr &&
          (line == "average_output" || line == "tree" || line == "boost_from_average")) {
        *average_output = *average_output || line == "average_output";
        continue;
      }
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos) {
        return Wrong(fmt::format("expected key=value, found '{}'", ShownBytes(line)));
      }
      if (!values
               ->try_emplace(line.substr(0, equals),
                             Value{line.substr(equals + 1), lines_.number()})
               .second) {
        return Wrong(fmt::format("{} stands twice", ShownBytes(line.substr(0, equals))));
      }
    }
    return {};
  }

  Result<Value> Need(const Values& values, std::string_view key) const {
    const auto found = values.find(key);
    if (found == values.end()) return Wrong(fmt::format("{}= is missing", key));
    return found->second;
  }

  template <typename T>
  Result<std::vector<T>> List(const Values& values, std::string_view key, size_t count,
                              bool required) const {
    std::vector<T> list;
    const auto found = values.find(key);
    if (found == values.end()) {
      if (required) return Wrong(fmt::format("{}= is missing", key));
      list.assign(count, T{});
      return list;
    }
    const Value& value = found->second;
    const char* at = value.text.data();
    const char* const end = at + value.text.size();
    while (at < end) {
      if (*at == ' ') {
        ++at;
        continue;
      }
      T number{};
      const auto [behind, error] = std::from_chars(at, end, number);
      if (error != std::errc() || (behind < end && *behind != ' ')) {
        return WrongAt(
            value.line,
            fmt::format("{}: expected {}, found '{}'", key, kNumbers<T>,
                        ShownBytes(std::string_view(at, static_cast<size_t>(end - at)))));
      }
      if (list.size() == count) break;
      list.push_back(number);
      at = behind;
    }
    if (list.size() != count || at < end) {
      return WrongAt(value.line, fmt::format("{}: expected {} numbers, found {}", key, count,
                                             at < end ? "more" : fmt::format("{}", list.size())));
    }
    return list;
  }

  template <typename T>
  Result<T> Number(const Values& values, std::string_view key) const {
    STRATA_ASSIGN(const std::vector<T> one, List<T>(values, key, 1, true));
    return one[0];
  }

  static std::vector<std::string> Words(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
      const size_t blank = text.find(' ');
      if (blank != 0) words.emplace_back(text.substr(0, blank));
      if (blank == std::string_view::npos) break;
      text.remove_prefix(blank + 1);
    }
    return words;
  }

  Status ReadHeader(TreeModel* model) {
    std::string_view line;
    if (!lines_.Next(&line) || line != "tree") {
      return Wrong("expected a LightGBM text model, whose first line is 'tree'");
    }
    Values values;
    STRATA_TRY(ReadValues(&values, &model->average_output));
    const auto version = values.find("version");
    if (version != values.end() && version->second.text != "v4" && version->second.text != "v3" &&
        version->second.text != "v2") {
      return WrongAt(version->second.line, fmt::format("version {}: expected v2, v3 or v4",
                                                       ShownBytes(version->second.text)));
    }
    is_old_ = version == values.end() || version->second.text == "v2";
    STRATA_ASSIGN(const auto classes, Number<uint64_t>(values, "num_class"));
    uint64_t per_iteration = classes;
    if (values.contains("num_tree_per_iteration")) {
      STRATA_ASSIGN(per_iteration, Number<uint64_t>(values, "num_tree_per_iteration"));
    }
    if (classes < 1 || classes > kClassesMax || per_iteration < 1 || per_iteration > kClassesMax) {
      return Wrong(fmt::format("num_class = {}, num_tree_per_iteration = {}: expected 1 to {}",
                               classes, per_iteration, kClassesMax));
    }
    if (classes != per_iteration) {
      return Wrong(fmt::format("num_class = {}, num_tree_per_iteration = {}: expected the same",
                               classes, per_iteration));
    }
    model->classes = classes;
    model->trees_per_iteration = per_iteration;
    STRATA_ASSIGN(const auto last, Number<int64_t>(values, "max_feature_idx"));
    if (last < -1) {
      return WrongAt(values.at("max_feature_idx").line,
                     fmt::format("max_feature_idx: {}: expected -1 (no feature) or more", last));
    }
    const uint64_t features = static_cast<uint64_t>(last) + 1;
    STRATA_ASSIGN(const Value names, Need(values, "feature_names"));
    STRATA_ASSIGN(const Value infos, Need(values, "feature_infos"));
    model->feature_names = Words(names.text);
    model->feature_infos = Words(infos.text);
    for (const auto& [key, words, at] :
         {std::tuple("feature_names", model->feature_names.size(), names.line),
          std::tuple("feature_infos", model->feature_infos.size(), infos.line)}) {
      if (words != features) {
        return WrongAt(at, fmt::format("{}: max_feature_idx = {} makes {} features, found {}", key,
                                       last, features, words));
      }
    }
    if (values.contains("monotone_constraints")) {
      STRATA_ASSIGN(model->monotone_constraints,
                    List<int32_t>(values, "monotone_constraints", model->features(), true));
    }
    if (values.contains("tree_sizes")) tree_sizes_ = values.at("tree_sizes");
    if (const auto objective = values.find("objective"); objective != values.end()) {
      model->objective = objective->second.text;
    }
    return {};
  }

  Result<Tree> ReadTree(size_t features) {
    Values values;
    STRATA_TRY(ReadValues(&values, nullptr));
    STRATA_ASSIGN(const auto leaves, Number<uint64_t>(values, "num_leaves"));
    STRATA_ASSIGN(const auto sets, Number<uint64_t>(values, "num_cat"));
    if (leaves < 1 || leaves > kTreeLeavesMax || sets >= leaves) {
      return WrongOf(values, "num_leaves",
                     fmt::format("{}, num_cat = {}: expected 1 to {} leaves, fewer sets", leaves,
                                 sets, kTreeLeavesMax));
    }
    if (values.contains("is_linear") && values.at("is_linear").text != "0") {
      return WrongAt(values.at("is_linear").line, "trees with linear leaves are not supported");
    }
    Tree tree;
    STRATA_TRY(ReadNodes(values, leaves - 1, features, &tree));
    STRATA_TRY(ReadLeaves(values, leaves, &tree));
    STRATA_TRY(ReadSets(values, sets, &tree));
    const auto children = values.find("left_child");
    const uint64_t line = children == values.end() ? lines_.number() : children->second.line;
    STRATA_TRY(CheckTreeShape(tree, fmt::format("{}:{}: left_child, right_child", name_, line)));
    if (values.contains("shrinkage")) {
      STRATA_ASSIGN(tree.shrinkage, Number<double>(values, "shrinkage"));
    }
    return tree;
  }

  Status ReadNodes(const Values& values, size_t count, size_t features, Tree* tree) const {
    const bool some = count > 0;
    STRATA_ASSIGN(const auto feature, List<int32_t>(values, "split_feature", count, some));
    STRATA_ASSIGN(const auto threshold, List<double>(values, "threshold", count, some));
    STRATA_ASSIGN(const auto decision, List<int32_t>(values, "decision_type", count, false));
    STRATA_ASSIGN(const auto left, List<int32_t>(values, "left_child", count, some));
    STRATA_ASSIGN(const auto right, List<int32_t>(values, "right_child", count, some));
    STRATA_ASSIGN(const auto gain, List<double>(values, "split_gain", count, false));
    STRATA_ASSIGN(const auto value, List<double>(values, "internal_value", count, false));
    STRATA_ASSIGN(const auto weight, List<double>(values, "internal_weight", count, false));
    STRATA_ASSIGN(const auto rows, List<int64_t>(values, "internal_count", count, false));
    for (size_t i = 0; i < count; ++i) {
      if (feature[i] < 0 || static_cast<size_t>(feature[i]) >= features) {
        return WrongOf(values, "split_feature",
                       fmt::format("{}: the model has {} features", feature[i], features));
      }
      if (std::isnan(threshold[i])) {
        return WrongOf(values, "threshold", fmt::format("number {} is NaN", i));
      }
      const int missing = decision[i] >> 2 & 3;
      if (decision[i] < 0 || decision[i] > 15 || missing > 2) {
        return WrongOf(values, "decision_type", fmt::format("{}: expected 0 to 11", decision[i]));
      }
      tree->nodes.push_back({.feature = feature[i],
                             .threshold = threshold[i],
                             .categorical = (decision[i] & 1) != 0,
                             .default_left = (decision[i] & 3) == 2,
                             .missing = static_cast<MissingKind>(missing),
                             .left = left[i],
                             .right = right[i],
                             .gain = gain[i],
                             .value = value[i],
                             .weight = weight[i],
                             .rows = rows[i]});
    }
    return {};
  }

  Status ReadLeaves(const Values& values, size_t count, Tree* tree) const {
    STRATA_ASSIGN(const auto value, List<double>(values, "leaf_value", count, true));
    STRATA_ASSIGN(const auto weight, LeafList<double>(values, "leaf_weight", count));
    STRATA_ASSIGN(const auto rows, LeafList<int64_t>(values, "leaf_count", count));
    for (size_t i = 0; i < count; ++i) {
      if (!std::isfinite(value[i])) {
        return WrongOf(values, "leaf_value",
                       fmt::format("number {} is {}: expected a finite one", i, value[i]));
      }
      tree->leaves.push_back({.value = value[i], .weight = weight[i], .rows = rows[i]});
    }
    return {};
  }

  // LightGBM leaves these empty in a tree of one leaf.
  template <typename T>
  Result<std::vector<T>> LeafList(const Values& values, std::string_view key, size_t count) const {
    const auto found = values.find(key);
    if (found != values.end() && found->second.text.empty()) return std::vector<T>(count);
    return List<T>(values, key, count, false);
  }

  Status ReadSets(const Values& values, size_t sets, Tree* tree) const {
    if (sets > 0) {
      STRATA_ASSIGN(tree->set_begins, List<uint32_t>(values, "cat_boundaries", sets + 1, true));
      for (size_t i = 0; i <= sets; ++i) {
        if (tree->set_begins[i] < (i == 0 ? 0 : tree->set_begins[i - 1]) ||
            (i == 0 && tree->set_begins[0] != 0)) {
          return WrongOf(values, "cat_boundaries", "must ascend from 0");
        }
      }
      const uint32_t words = tree->set_begins.back();
      STRATA_ASSIGN(tree->set_words, List<uint32_t>(values, "cat_threshold", words, true));
    }
    for (const TreeNode& node : tree->nodes) {
      if (!node.categorical) continue;
      if (!(node.threshold >= 0) || node.threshold >= static_cast<double>(sets)) {
        return WrongOf(
            values, "threshold",
            fmt::format("a categorical node uses set {}, there are {}", node.threshold, sets));
      }
    }
    return {};
  }

  // What stands behind the trees: nothing of it changes predictions.
  void ReadTail(TreeModel* model) {
    constexpr std::string_view kPandas = "pandas_categorical:";
    std::string_view line;
    bool inside = false;
    while (lines_.Next(&line)) {
      if (line == "parameters:") inside = true;
      if (line == "end of parameters") inside = false;
      if (line.starts_with(kPandas)) model->pandas_categorical = line.substr(kPandas.size());
      const size_t colon = line.find(": ");
      if (!inside || !line.starts_with('[') || !line.ends_with(']') || colon == line.npos) continue;
      model->parameters.emplace_back(line.substr(1, colon - 1),
                                     line.substr(colon + 2, line.size() - colon - 3));
    }
  }

  Lines lines_;
  const std::string& name_;
  Value tree_sizes_;     // of the header; line 0: there are none
  bool is_old_ = false;  // perhaps of LightGBM before 2.2
  bool ended_ = false;
};

}  // namespace

Result<TreeModel> ReadLightGbmText(std::string_view text, const std::string& name) {
  return Reader(text, name).Read();
}

}  // namespace strata
