#include "worker/gbdt/model/model_cpp.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <span>
#include <string_view>

namespace strata {
namespace {

constexpr size_t kDepthMax = 200;  // clang takes 256 nested blocks

constexpr std::string_view kHelpers = R"(
// Where a value goes: a missing one (NaN) is 0, or goes to a side of its own.
inline bool IsLeft(double value, double threshold) {
  return (std::isnan(value) ? 0.0 : value) <= threshold;
}

inline bool IsLeftOrNaN(double value, double threshold, bool nan_left) {
  return std::isnan(value) ? nan_left : value <= threshold;
}

inline bool IsLeftOrZero(double value, double threshold, bool zero_left) {
  const bool is_zero = std::isnan(value) || std::fabs(value) <= 1e-35F;
  return is_zero ? zero_left : value <= threshold;
}

// Bit c of the words: category c goes left.
inline bool IsIn(double value, const std::uint32_t* words, std::uint32_t count, bool nan_in) {
  if (std::isnan(value)) return nan_in;
  if (!(value > -1) || !(value < 2147483648.0)) return false;
  const auto category = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return category / 32 < count && (words[category / 32] >> (category % 32) & 1U) != 0;
}
)";

// A literal of type double that reads as the same number.
std::string Literal(double value) {
  if (std::isinf(value)) return value > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string Condition(const TreeNode& node) {
  const std::string value = fmt::format("x[{}]", node.feature);
  if (node.categorical) {
    return fmt::format("IsIn({0}, kSet{1}, sizeof kSet{1} / sizeof *kSet{1}, {2})", value,
                       node.threshold, node.default_left);
  }
  const std::string threshold = Literal(node.threshold);
  switch (node.missing) {
    case MissingKind::kNone:
      return fmt::format("IsLeft({}, {})", value, threshold);
    case MissingKind::kZero:
      return fmt::format("IsLeftOrZero({}, {}, {})", value, threshold, node.default_left);
    case MissingKind::kNaN:
      return fmt::format("IsLeftOrNaN({}, {}, {})", value, threshold, node.default_left);
  }
  return "";
}

void AppendNode(const Tree& tree, int32_t at, size_t indent, std::string* out) {
  if (at < 0) {
    *out += fmt::format("{:{}}return {};\n", "", indent,
                        Literal(tree.leaves[static_cast<size_t>(~at)].value));
    return;
  }
  const TreeNode& node = tree.nodes[static_cast<size_t>(at)];
  *out += fmt::format("{:{}}if ({}) {{\n", "", indent, Condition(node));
  AppendNode(tree, node.left, indent + 2, out);
  *out += fmt::format("{:{}}}} else {{\n", "", indent);
  AppendNode(tree, node.right, indent + 2, out);
  *out += fmt::format("{:{}}}}\n", "", indent);
}

std::string TreeText(const Tree& tree, size_t number) {
  std::string out = fmt::format("\ninline double Tree{}(const double* {}) {{\n", number,
                                tree.nodes.empty() ? "/*x*/" : "x");
  for (size_t set = 0; set + 1 < tree.set_begins.size(); ++set) {
    const std::span<const uint32_t> words =
        std::span(tree.set_words)
            .subspan(tree.set_begins[set], tree.set_begins[set + 1] - tree.set_begins[set]);
    out += fmt::format("  static constexpr std::uint32_t kSet{}[] = {{{}}};\n", set,
                       words.empty() ? "0" : fmt::format("{}U", fmt::join(words, "U, ")));
  }
  AppendNode(tree, tree.nodes.empty() ? ~0 : 0, 2, &out);
  return out + "}\n";
}

std::string TransformText(const OutputTransform& transform) {
  switch (transform.kind()) {
    case OutputTransform::Kind::kNone:
      return "";
    case OutputTransform::Kind::kSigmoid:
      return fmt::format(
          "  for (int k = 0; k < kOutputs; ++k) out[k] = 1 / (1 + std::exp(-{} * "
          "out[k]));\n",
          Literal(transform.sigmoid()));
    case OutputTransform::Kind::kExp:
      return "  for (int k = 0; k < kOutputs; ++k) out[k] = std::exp(out[k]);\n";
    case OutputTransform::Kind::kSoftplus:
      return "  for (int k = 0; k < kOutputs; ++k) out[k] = std::log1p(std::exp(out[k]));\n";
    case OutputTransform::Kind::kSquare:
      return "  for (int k = 0; k < kOutputs; ++k) out[k] = std::copysign(out[k] * out[k], "
             "out[k]);\n";
    case OutputTransform::Kind::kSoftmax:
      return "  double largest = out[0];\n"
             "  for (int k = 1; k < kOutputs; ++k) largest = std::fmax(largest, out[k]);\n"
             "  double sum = 0;\n"
             "  for (int k = 0; k < kOutputs; ++k) sum += out[k] = std::exp(out[k] - largest);\n"
             "  for (int k = 0; k < kOutputs; ++k) out[k] /= sum;\n";
  }
  return "";
}

}  // namespace

Result<std::string> WriteModelCpp(const TreeModel& model) {
  STRATA_ASSIGN(const OutputTransform transform, OutputTransform::Of(model));
  const size_t classes = model.classes;
  std::string out = fmt::format(
      "// Boosted trees: {} trees, written by Strata. x holds the values of kFeatures features, "
      "NaN for\n// a missing one; out takes kOutputs numbers.\n"
      "#include <cmath>\n#include <cstdint>\n\nnamespace boosted_trees {{\n\n"
      "inline constexpr int kFeatures = {};\ninline constexpr int kOutputs = {};\n{}",
      model.trees.size(), model.features(), classes, kHelpers);
  std::string sums;
  for (size_t t = 0; t < model.trees.size(); ++t) {
    if (const size_t depth = model.trees[t].Depth(); depth > kDepthMax) {
      return Invalid(fmt::format("tree {} has {} nodes on one way: at most {} are written as C++",
                                 t, depth, kDepthMax));
    }
    out += TreeText(model.trees[t], t);
    sums += fmt::format("  out[{}] += Tree{}(x);\n", t % classes, t);
  }
  out += fmt::format(
      "\n// Sums of the trees' outputs.\ninline void PredictRaw(const double* {}, double* out) "
      "{{\n  for (int k = 0; k < kOutputs; ++k) out[k] = 0;\n{}}}\n",
      sums.empty() ? "/*x*/" : "x", sums);
  out += fmt::format(
      "\n// What the objective '{}' predicts.\ninline void Predict(const double* x, double* out) "
      "{{\n  PredictRaw(x, out);\n{}{}}}\n\n}}  // namespace boosted_trees\n",
      model.ObjectiveName(),
      model.average_output && model.iterations() > 0
          ? fmt::format("  for (int k = 0; k < kOutputs; ++k) out[k] /= {};\n", model.iterations())
          : "",
      TransformText(transform));
  return out;
}

}  // namespace strata
