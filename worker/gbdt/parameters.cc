#include "worker/gbdt/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <variant>

#include "base/settings.h"

namespace strata {
namespace {

constexpr uint64_t kConfBytesMax = 16 << 20;
constexpr double kAny = 1e308;

using Texts = std::vector<std::string>;
using Target =
    std::variant<std::string TreeParameters::*, Texts TreeParameters::*, bool TreeParameters::*,
                 int64_t TreeParameters::*, double TreeParameters::*, double SplitRules::*,
                 int64_t SplitRules::*, int32_t SplitRules::*, bool BinningRules::*,
                 int64_t BinningRules::*, uint32_t BinningRules::*,
                 std::vector<int64_t> TreeParameters::*, std::vector<double> TreeParameters::*>;

struct Row {
  std::string_view name;
  std::string_view aliases;  // separated by blanks
  Target target;
  double min = -kAny;  // of numbers
  double max = kAny;
  std::string_view choices = {};  // "a|b"; of texts
};

using P = TreeParameters;
using S = SplitRules;
using B = BinningRules;

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"task", "task_type", &P::task, 0, 0, "train|predict|convert|refit"},
      {"objective", "objective_type app application loss", &P::objective, 0, 0,
       "regression|regression_l1|huber|fair|poisson|quantile|mape|gamma|tweedie|binary|multiclass|"
       "multiclassova|cross_entropy|lambdarank|rank_xendcg"},
      {"boosting", "boosting_type boost", &P::boosting, 0, 0, "gbdt|rf|dart"},
      {"metric", "metrics metric_types", &P::metrics},
      {"data", "train train_data train_data_file data_filename", &P::data},
      {"valid", "test valid_data valid_data_file test_data test_data_file valid_filenames",
       &P::valid},
      {"input_model", "model_input model_in", &P::input_model},
      {"output_model", "model_output model_out", &P::output_model},
      {"output_result",
       "predict_result prediction_result predict_name prediction_name pred_name name_pred",
       &P::output_result},
      {"header", "has_header", &P::header},
      {"label_column", "label", &P::label_column},
      {"weight_column", "weight", &P::weight_column},
      {"group_column", "group group_id query_column query query_id", &P::group_column},
      {"ignore_column", "ignore_feature blacklist", &P::ignore_column},
      {"categorical_feature", "cat_feature categorical_column cat_column categorical_features",
       &P::categorical_feature},
      {"num_iterations",
       "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round "
       "n_estimators max_iter",
       &P::num_iterations, 0, 1e9},
      {"learning_rate", "shrinkage_rate eta", &P::learning_rate, 1e-300},
      {"num_leaves", "num_leaf max_leaves max_leaf max_leaf_nodes", &P::num_leaves, 2, 131072},
      {"max_depth", "", &P::max_depth, -1e9, 1e9},
      {"num_threads", "num_thread nthread nthreads n_jobs", &P::num_threads, -1e9, 1024},
      {"tree_learner", "tree tree_type tree_learner_type", &P::tree_learner, 0, 0,
       "serial|data|feature|voting"},
      {"min_data_in_leaf", "min_data_per_leaf min_data min_child_samples min_samples_leaf",
       &S::min_data_in_leaf, 0, 1e18},
      {"min_sum_hessian_in_leaf",
       "min_sum_hessian_per_leaf min_sum_hessian min_hessian min_child_weight",
       &S::min_sum_hessian_in_leaf, 0},
      {"lambda_l1", "reg_alpha l1_regularization", &S::lambda_l1, 0},
      {"lambda_l2", "reg_lambda lambda l2_regularization", &S::lambda_l2, 0},
      {"min_gain_to_split", "min_split_gain", &S::min_gain_to_split, 0},
      {"max_delta_step", "max_tree_output max_leaf_output", &S::max_delta_step},
      {"path_smooth", "", &S::path_smooth, 0},
      {"cat_l2", "", &S::cat_l2, 0},
      {"cat_smooth", "", &S::cat_smooth, 0},
      {"max_cat_to_onehot", "", &S::max_cat_to_onehot, 1, 65535},
      {"max_cat_threshold", "", &S::max_cat_threshold, 1, 65535},
      {"min_data_per_group", "", &S::min_data_per_group, 1, 1e18},
      {"max_bin", "max_bins", &B::max_bin, 2, 65535},
      {"min_data_in_bin", "", &B::min_data_in_bin, 1, 1e18},
      {"use_missing", "", &B::use_missing},
      {"zero_as_missing", "", &B::zero_as_missing},
      {"feature_pre_filter", "", &B::pre_filter},
      {"bin_construct_sample_cnt", "subsample_for_bin", &P::bin_construct_sample_cnt, 1, 1e12},
      {"bagging_fraction", "sub_row subsample bagging", &P::bagging_fraction, 1e-9, 1},
      {"bagging_freq", "subsample_freq", &P::bagging_freq, 0, 1e9},
      {"feature_fraction", "sub_feature colsample_bytree", &P::feature_fraction, 1e-9, 1},
      {"feature_fraction_bynode", "sub_feature_bynode colsample_bynode",
       &P::feature_fraction_bynode, 1e-9, 1},
      {"extra_trees", "extra_tree", &P::extra_trees},
      {"seed", "random_seed random_state", &P::seed, -1e18, 1e18},
      {"data_random_seed", "data_seed", &P::data_random_seed, -1e18, 1e18},
      {"bagging_seed", "bagging_fraction_seed", &P::bagging_seed, -1e18, 1e18},
      {"feature_fraction_seed", "", &P::feature_fraction_seed, -1e18, 1e18},
      {"objective_seed", "", &P::objective_seed, -1e18, 1e18},
      {"extra_seed", "", &P::extra_seed, -1e18, 1e18},
      {"num_class", "num_classes", &P::num_class, 1, 10000},
      {"boost_from_average", "", &P::boost_from_average},
      {"is_unbalance", "unbalance unbalanced_sets", &P::is_unbalance},
      {"scale_pos_weight", "", &P::scale_pos_weight, 1e-300},
      {"sigmoid", "", &P::sigmoid, 1e-300},
      {"reg_sqrt", "", &P::reg_sqrt},
      {"alpha", "", &P::alpha, 1e-300},
      {"fair_c", "", &P::fair_c, 1e-300},
      {"poisson_max_delta_step", "", &P::poisson_max_delta_step, 1e-300},
      {"tweedie_variance_power", "", &P::tweedie_variance_power, 1, 1.9999999},
      {"lambdarank_truncation_level", "", &P::lambdarank_truncation_level, 1, 1e9},
      {"lambdarank_norm", "", &P::lambdarank_norm},
      {"label_gain", "", &P::label_gain},
      {"eval_at", "ndcg_eval_at ndcg_at map_eval_at map_at", &P::eval_at, 1, 1e9},
      {"metric_freq", "output_freq", &P::metric_freq, 1, 1e9},
      {"is_provide_training_metric", "training_metric is_training_metric train_metric",
       &P::is_provide_training_metric},
      {"early_stopping_round", "early_stopping_rounds early_stopping n_iter_no_change",
       &P::early_stopping_round, -1e9, 1e9},
      {"early_stopping_min_delta", "", &P::early_stopping_min_delta, 0},
      {"first_metric_only", "", &P::first_metric_only},
      {"snapshot_freq", "save_period", &P::snapshot_freq, -1e9, 1e9},
      {"use_quantized_grad", "", &P::use_quantized_grad},
      {"num_grad_quant_bins", "", &P::num_grad_quant_bins, 2, 32766},
      {"quant_train_renew_leaf", "", &P::quant_train_renew_leaf},
      {"gradient_bits", "", &P::gradient_bits, 0, 32},
      {"predict_raw_score", "is_predict_raw_score predict_rawscore raw_score",
       &P::predict_raw_score},
      {"predict_leaf_index", "is_predict_leaf_index leaf_index", &P::predict_leaf_index},
      {"predict_contrib", "is_predict_contrib contrib", &P::predict_contrib},
      {"num_iteration_predict", "", &P::num_iteration_predict, -1e9, 1e9},
      {"start_iteration_predict", "", &P::start_iteration_predict, 0, 1e9},
      {"verbosity", "verbose", &P::verbosity, -1e9, 1e9},
  };
  return rows;
}

// Keys that change how LightGBM works, not what comes out: any value is fine.
constexpr std::string_view kWithoutEffect[] = {"force_col_wise",
                                               "force_row_wise",
                                               "histogram_pool_size",
                                               "is_enable_sparse",
                                               "is_sparse",
                                               "enable_sparse",
                                               "sparse",
                                               "two_round",
                                               "two_round_loading",
                                               "use_two_round_loading",
                                               "pre_partition",
                                               "is_pre_partition",
                                               "deterministic",
                                               "config",
                                               "config_file"};

// Keys of LightGBM that Strata does not support, with the value at which they have no effect.
struct Unsupported {
  std::string_view name;
  std::string_view idle;
};
constexpr Unsupported kUnsupported[] = {{"linear_tree", "false"},
                                        {"linear_trees", "false"},
                                        {"linear_lambda", "0"},
                                        {"cegb_tradeoff", "1"},
                                        {"cegb_penalty_split", "0"},
                                        {"forcedsplits_filename", ""},
                                        {"forcedbins_filename", ""},
                                        {"monotone_constraints", ""},
                                        {"interaction_constraints", ""},
                                        {"pos_bagging_fraction", "1"},
                                        {"neg_bagging_fraction", "1"},
                                        {"bagging_by_query", "false"},
                                        {"feature_contri", ""},
                                        {"data_sample_strategy", "bagging"},
                                        {"enable_bundle", "false"},
                                        {"max_bin_by_feature", ""},
                                        {"save_binary", "false"},
                                        {"device_type", "cpu"},
                                        {"device", "cpu"},
                                        {"num_machines", "1"},
                                        {"num_machine", "1"},
                                        {"machines", ""},
                                        {"machine_list_filename", ""},
                                        {"machine_list_file", ""},
                                        {"local_listen_port", "12400"},
                                        {"local_port", "12400"},
                                        {"parser_config_file", ""},
                                        {"pred_early_stop", "false"},
                                        {"refit_decay_rate", "0.9"},
                                        {"convert_model", ""},
                                        {"drop_rate", "0.1"},
                                        {"max_drop", "50"},
                                        {"skip_drop", "0.5"},
                                        {"xgboost_dart_mode", "false"},
                                        {"uniform_drop", "false"},
                                        {"drop_seed", "4"},
                                        {"top_rate", "0.2"},
                                        {"other_rate", "0.1"},
                                        {"auc_mu_weights", ""},
                                        {"monotone_constraints_method", "basic"},
                                        {"monotone_penalty", "0"},
                                        {"multi_error_top_k", "1"},
                                        {"saved_feature_importance_type", "0"},
                                        {"precise_float_parser", "true"}};

// LightGBM's other names for values of `objective`.
const std::map<std::string_view, std::string_view>& ObjectiveAliases() {
  static const std::map<std::string_view, std::string_view> aliases = {
      {"regression_l2", "regression"},
      {"l2", "regression"},
      {"mean_squared_error", "regression"},
      {"mse", "regression"},
      {"l2_root", "regression"},
      {"root_mean_squared_error", "regression"},
      {"rmse", "regression"},
      {"l1", "regression_l1"},
      {"mean_absolute_error", "regression_l1"},
      {"mae", "regression_l1"},
      {"mean_absolute_percentage_error", "mape"},
      {"softmax", "multiclass"},
      {"multiclass_ova", "multiclassova"},
      {"ova", "multiclassova"},
      {"ovr", "multiclassova"},
      {"xentropy", "cross_entropy"},
      {"xendcg", "rank_xendcg"},
      {"xe_ndcg", "rank_xendcg"},
      {"xe_ndcg_mart", "rank_xendcg"},
      {"xendcg_mart", "rank_xendcg"}};
  return aliases;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\"'");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"'") - begin + 1);
}

Texts SplitList(std::string_view text) {
  Texts parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = Trimmed(text.substr(0, comma));
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

// One value with where it came from.
struct Given {
  std::string_view key;
  std::string_view value;
  std::string origin;

  Status Wrong(const std::string& expected) const {
    return Invalid(fmt::format("{}: {}: expected {}, found '{}'", origin, key, expected, value));
  }
};

Result<double> NumberOf(const Given& given, std::string_view text, const Row& row, bool whole) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool read = error == std::errc() && end == text.data() + text.size();
  if (!read || number != number ||
      (whole && number != static_cast<double>(static_cast<int64_t>(number)))) {
    return given.Wrong(whole ? "a whole number" : "a number");
  }
  if (number < row.min || number > row.max) {
    if (row.max >= kAny) return given.Wrong(fmt::format("a number of at least {}", row.min));
    return given.Wrong(fmt::format("a number from {} to {}", row.min, row.max));
  }
  return number;
}

Result<bool> BoolOf(const Given& given) {
  if (given.value == "true" || given.value == "1" || given.value == "+" || given.value == "True") {
    return true;
  }
  if (given.value == "false" || given.value == "0" || given.value == "-" ||
      given.value == "False") {
    return false;
  }
  return given.Wrong("true or false");
}

// Sets what the row's target points at.
class Setter {
 public:
  Setter(const Given& given, const Row& row, TreeParameters* out)
      : given_(given), row_(row), out_(out) {}

  Status operator()(std::string P::*member) const {
    std::string value(given_.value);
    if (row_.name == "objective") {
      const auto alias = ObjectiveAliases().find(value);
      if (alias != ObjectiveAliases().end()) value = alias->second;
    }
    if (!row_.choices.empty() &&
        ("|" + std::string(row_.choices) + "|").find("|" + value + "|") == std::string::npos) {
      return given_.Wrong("one of " + std::string(row_.choices));
    }
    out_->*member = value;
    return {};
  }
  Status operator()(Texts P::*member) const {
    out_->*member = SplitList(given_.value);
    return {};
  }
  Status operator()(bool P::*member) const { return Bool(&(out_->*member)); }
  Status operator()(bool B::*member) const { return Bool(&(out_->binning.*member)); }
  Status operator()(int64_t P::*member) const { return Number(&(out_->*member), true); }
  Status operator()(double P::*member) const { return Number(&(out_->*member), false); }
  Status operator()(double S::*member) const { return Number(&(out_->rules.*member), false); }
  Status operator()(int64_t S::*member) const { return Number(&(out_->rules.*member), true); }
  Status operator()(int32_t S::*member) const { return Number(&(out_->rules.*member), true); }
  Status operator()(int64_t B::*member) const { return Number(&(out_->binning.*member), true); }
  Status operator()(uint32_t B::*member) const { return Number(&(out_->binning.*member), true); }
  Status operator()(std::vector<int64_t> P::*member) const { return List(&(out_->*member), true); }
  Status operator()(std::vector<double> P::*member) const { return List(&(out_->*member), false); }

 private:
  Status Bool(bool* out) const {
    STRATA_ASSIGN(*out, BoolOf(given_));
    return {};
  }
  template <typename T>
  Status Number(T* out, bool whole) const {
    STRATA_ASSIGN(const double number, NumberOf(given_, given_.value, row_, whole));
    *out = static_cast<T>(number);
    return {};
  }
  template <typename T>
  Status List(std::vector<T>* out, bool whole) const {
    out->clear();
    for (const std::string& part : SplitList(given_.value)) {
      STRATA_ASSIGN(const double number, NumberOf(given_, part, row_, whole));
      out->push_back(static_cast<T>(number));
    }
    return {};
  }

  const Given& given_;
  const Row& row_;
  TreeParameters* out_;
};

const Row* FindRow(std::string_view key) {
  for (const Row& row : Rows()) {
    if (row.name == key) return &row;
    for (std::string_view rest = row.aliases; !rest.empty();) {
      const size_t blank = rest.find(' ');
      if (rest.substr(0, blank) == key) return &row;
      if (blank == std::string_view::npos) break;
      rest.remove_prefix(blank + 1);
    }
  }
  return nullptr;
}

Status Apply(const Given& given, TreeParameters* out) {
  if (const Row* row = FindRow(given.key); row != nullptr) {
    out->set.emplace_back(row->name, given.value);
    return std::visit(Setter(given, *row, out), row->target);
  }
  if (std::ranges::count(kWithoutEffect, given.key) > 0) return {};
  for (const Unsupported& known : kUnsupported) {
    if (known.name != given.key) continue;
    if (given.value == known.idle) return {};
    return Invalid(fmt::format(
        "{}: {} is a parameter of LightGBM that Strata does not support: remove it{}", given.origin,
        given.key, known.idle.empty() ? "" : fmt::format(" (or leave it at {})", known.idle)));
  }
  std::vector<std::string_view> names;
  for (const Row& row : Rows()) names.push_back(row.name);
  const std::string_view nearest = NearestName(given.key, names);
  return Invalid(fmt::format("{}: unknown parameter '{}'{}", given.origin, given.key,
                             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

// Seeds that are not set follow from `seed`, whose own sequence LightGBM draws from its generator.
void DeriveSeeds(const std::vector<std::string_view>& given, TreeParameters* out) {
  if (std::ranges::count(given, "seed") == 0) return;
  uint32_t state = static_cast<uint32_t>(out->seed);
  const auto next = [&](std::string_view name, int64_t* seed) {
    state = 214013U * state + 2531011U;
    const int64_t drawn = (state >> 16) & 0x7fff;
    if (std::ranges::count(given, name) == 0) *seed = drawn;
  };
  int64_t drop_seed = 0;
  next("data_random_seed", &out->data_random_seed);
  next("bagging_seed", &out->bagging_seed);
  next("drop_seed", &drop_seed);
  next("feature_fraction_seed", &out->feature_fraction_seed);
  next("objective_seed", &out->objective_seed);
  next("extra_seed", &out->extra_seed);
}

// What only several values together show.
Status CheckTogether(const std::string& file, const TreeParameters& p) {
  const auto wrong = [&](const std::string& what) {
    return Invalid(fmt::format("{}: {}", file, what));
  };
  const bool multiclass = p.objective == "multiclass" || p.objective == "multiclassova";
  if (multiclass && p.num_class < 2) {
    return wrong(fmt::format("objective = {} needs num_class of at least 2", p.objective));
  }
  if (!multiclass && p.num_class != 1) {
    return wrong(fmt::format("num_class = {} has no effect on objective = {}: remove it",
                             p.num_class, p.objective));
  }
  if (p.gradient_bits != 0 && p.gradient_bits != 16 && p.gradient_bits != 32) {
    return wrong(
        fmt::format("gradient_bits: expected 16, 32, or 0 for the one that fits the data; found {}",
                    p.gradient_bits));
  }
  if (p.is_unbalance && p.scale_pos_weight != 1) {
    return wrong("is_unbalance and scale_pos_weight exclude each other: remove one");
  }
  if (p.bagging_freq == 0 && p.bagging_fraction != 1) {
    return wrong("bagging_fraction has no effect while bagging_freq is 0: set bagging_freq = 1");
  }
  if (p.objective == "quantile" && p.alpha >= 1)
    return wrong("alpha: expected below 1 for quantile");
  const auto unsupported = [&](const std::string& what) {
    return wrong(what + " is not supported yet");
  };
  if (p.task == "convert" || p.task == "refit") return unsupported("task = " + p.task);
  if (p.boosting != "gbdt") return unsupported("boosting = " + p.boosting);
  if (p.tree_learner != "serial") return unsupported("tree_learner = " + p.tree_learner);
  if (p.predict_contrib) return unsupported("predict_contrib");
  if (p.quant_train_renew_leaf) return unsupported("quant_train_renew_leaf");
  return {};
}

}  // namespace

Result<TreeParameters> ParseLightGbmConf(std::string_view text, const std::string& file,
                                         std::span<const std::string> overrides) {
  std::vector<Given> all;
  for (const std::string& override_text : overrides) {
    const std::string_view view = override_text;
    const size_t equals = view.find('=');
    if (equals == std::string_view::npos) {
      return Invalid(fmt::format("'{}': expected key=value", override_text));
    }
    all.push_back(
        {Trimmed(view.substr(0, equals)), Trimmed(view.substr(equals + 1)), "command line"});
  }
  const size_t from_command_line = all.size();
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    line = Trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Invalid(
          fmt::format("{}:{}: expected key = value, found '{}'", file, number, line.substr(0, 80)));
    }
    all.push_back({Trimmed(line.substr(0, equals)), Trimmed(line.substr(equals + 1)),
                   fmt::format("{}:{}", file, number)});
  }
  TreeParameters parameters;
  std::vector<std::string_view> given;
  for (size_t i = 0; i < all.size(); ++i) {
    const Row* row = FindRow(all[i].key);
    const std::string_view name = row != nullptr ? row->name : all[i].key;
    const bool again = std::ranges::count(given, name) > 0;
    // The command line comes first and wins; within one place a key stands once.
    if (again && i >= from_command_line) {
      const auto earlier = std::ranges::find_if(all, [&](const Given& other) {
        const Row* other_row = FindRow(other.key);
        return (other_row != nullptr ? other_row->name : other.key) == name;
      });
      if (earlier->origin == "command line") continue;
      return Invalid(fmt::format("{}: {} is set again; it was at {}", all[i].origin, all[i].key,
                                 earlier->origin));
    }
    STRATA_TRY(Apply(all[i], &parameters));
    given.push_back(name);
  }
  DeriveSeeds(given, &parameters);
  parameters.binning.min_data_in_leaf = parameters.rules.min_data_in_leaf;
  STRATA_TRY(CheckTogether(file, parameters));
  return parameters;
}

Result<TreeParameters> LoadLightGbmConf(Disk& disk, const std::string& path,
                                        std::span<const std::string> overrides) {
  const Result<std::string> text = ReadFile(disk, path, kConfBytesMax);
  if (!text.ok()) return text.status().Prefixed("the configuration");
  return ParseLightGbmConf(*text, path, overrides);
}

}  // namespace strata
