#include "worker/tasks/catboost/refused_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

constexpr std::string_view kLater = "is not there yet";
constexpr std::string_view kOfGpus =
    "is not supported: device names the GPU, whose memory is taken as it is needed";
constexpr std::string_view kOfOtherTrees = "is for trees that are not there yet";
constexpr std::string_view kAnyBool = "true false";
// The default of Lossguide, and 2 to the power of each depth.
constexpr std::string_view kLeaves =
    "31 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536";

constexpr RefusedParameter kRefused[] = {
    {"allow_writing_files", kAnyBool, "is not supported: the model alone is written"},
    {"approx_on_full_history", "false", "is for boosting that is not there yet"},
    {"bayesian_matrix_reg", "0.1", kLater},
    {"boosting_type", "Plain", kLater},
    {"cat_features", "[]", "is not supported: give the columns the type Categ"},
    {"counter_calc_method", "SkipTest", kLater},
    {"ctr_history_unit", "Sample", kLater},
    {"ctr_leaf_count_limit", "18446744073709551615", "is not there yet: tables have all keys"},
    {"custom_loss", "[]", "is not there yet: eval_metric and the loss are measured"},
    {"custom_metric", "[]", "is not there yet: eval_metric and the loss are measured"},
    {"detailed_profile", "false", "is not supported"},
    {"devices", "-1", kOfGpus},
    {"diffusion_temperature", "10000", kLater},
    {"embedding_features", "[]", kLater},
    {"eval_fraction", "0", "is not there yet: give rows to measure on as test_set"},
    {"final_ctr_computation_mode", "Default", "is not there yet: tables are in the model"},
    {"fold_len_multiplier", "2", "is for boosting that is not there yet"},
    {"force_unit_auto_pair_weights", "false", kLater},
    {"gpu_ram_part", "0.95", kOfGpus},
    {"grow_policy", "SymmetricTree", kLater},
    {"input_borders_file", "", kLater},
    {"langevin", "false", kLater},
    {"learn_group_weights", "", kLater},
    {"learn_pairs", "", kLater},
    {"max_leaves", kLeaves, kOfOtherTrees},
    {"min_child_samples", "1", kOfOtherTrees},
    {"min_data_in_leaf", "1", kOfOtherTrees},
    {"name", "experiment", "is not supported"},
    {"num_leaves", kLeaves, kOfOtherTrees},
    {"output_borders_file", "", kLater},
    {"per_float_feature_quantization", "[]", kLater},
    {"per_object_feature_penalties", "[] {}", kLater},
    {"pinned_memory_size", "104857600", kOfGpus},
    {"pool_metainfo_options", R"({"tags":{}} {})", kLater},
    {"posterior_sampling", "false", kLater},
    {"random_score_type", "NormalWithModelSizeDecrease", kLater},
    {"sampling_unit", "Object", kLater},
    {"save_snapshot", "false", kLater},
    {"silent", "false", "is not supported: verbose = false shows no progress"},
    {"snapshot_file", "", kLater},
    {"snapshot_interval", "600", kLater},
    {"sparse_features_conflict_fraction", "0", kLater},
    {"store_all_simple_ctr", "false", "is not there yet: tables have all keys"},
    {"target_border", "", "is not there yet: labels of Logloss are two classes"},
    {"test_group_weights", "", kLater},
    {"test_pairs", "", kLater},
    {"text_features", "[]", kLater},
    {"text_processing", "[] {}", kLater},
    {"train_dir", "catboost_info", "is not supported: the model alone is written"},
    {"used_ram_limit", "", kLater},
};

bool IsSame(std::string_view value, std::string_view idle) {
  if (value == idle) return true;
  float found = 0;
  float expected = 0;
  return ReadNumber(value, &found) && ReadNumber(idle, &expected) && found == expected;
}

}  // namespace

std::span<const RefusedParameter> RefusedParameters() { return kRefused; }

const RefusedParameter* FindRefused(std::string_view key) {
  const auto* const found = std::ranges::find(kRefused, key, &RefusedParameter::key);
  return found == std::end(kRefused) ? nullptr : found;
}

Status CheckRefused(const RefusedParameter& refused, std::string_view value,
                    const std::string& origin) {
  if (refused.idle.empty()) {
    return Invalid(fmt::format("{}: {} {}: remove it", origin, refused.key, refused.why));
  }
  for (const auto part : std::views::split(refused.idle, ' ')) {
    if (IsSame(value, std::string_view(part.begin(), part.end()))) return {};
  }
  const std::string_view first = refused.idle.substr(0, refused.idle.find(' '));
  return Invalid(fmt::format("{}: {} = {} {}: expected {}, or remove it", origin, refused.key,
                             ShownBytes(value), refused.why, first));
}

}  // namespace strata
