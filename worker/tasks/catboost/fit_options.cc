#include "worker/tasks/catboost/fit_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/file/standard_input.h"
#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/catboost/train/class_labels.h"
#include "worker/gbdt/model/json_at.h"
#include "worker/tasks/catboost/end_options.h"
#include "worker/tasks/catboost/feature_options.h"
#include "worker/tasks/catboost/fit_class_options.h"
#include "worker/tasks/catboost/fit_loss_options.h"
#include "worker/tasks/catboost/pool_settings.h"
#include "worker/tasks/catboost/sampling_options.h"
#include "worker/tasks/catboost/shrink_options.h"

namespace strata {
namespace {

constexpr uint64_t kParamsBytesMax = 16 << 20;

constexpr Setting kFitSettings[] = {
    {.key = "learn_set",
     .help = "Path of the rows to learn from: fields parted by the delimiter, one row a line, "
             "plain or compressed (gzip, zstd); - is standard input. Required."},
    {.key = "test_set",
     .help = "Path of rows to measure on after each round. With them the model keeps the rounds up "
             "to the best eval_metric there, unless use_best_model = false."},
    {.key = "column_description",
     .help = "Path of CatBoost's column description (cd is the same). Num, Categ, Label, Weight, "
             "SampleId and Auxiliary are read. Without it the first column is the label, and all "
             "others are "
             "numbers."},
    kDelimiterSetting,
    kHasHeaderSetting,
    {.key = "model_file",
     .default_value = "model.json",
     .help = "File of the model, which is CatBoost's JSON; - is standard output."},
    {.key = "model_format",
     .type = SettingType::kChoice,
     .default_value = "json",
     .help = "The model's format. CatBoost's own default, cbm, is not there.",
     .choices = "json"},
    {.key = "thread_count",
     .type = SettingType::kInt,
     .default_value = "-1",
     .help = "Threads that train; -1 is one a core. The model does not depend on them.",
     .min = -1,
     .max = 1024},
    {.key = "loss_function",
     .default_value = "RMSE",
     .help =
         "What is minimised, and measured after each round: RMSE, MAE, MAPE, Poisson, "
         "Quantile:alpha=0.5;delta=0.000001, Expectile:alpha=A, Huber:delta=D, "
         "Tweedie:variance_power=P, Logloss (labels are two classes) or CrossEntropy (labels are "
         "probabilities). Quantile alone does without its parameters."},
    {.key = "eval_metric",
     .help =
         "What is measured after each round besides the loss, and says which model is the best. "
         "It is a loss of the same kind of labels; with Logloss and CrossEntropy also Accuracy, "
         "or AUC of the test rows."},
    {.key = "class_names",
     .type = SettingType::kTextList,
     .help = "The labels of classes in their order. Without it they are those of the rows, by "
             "number where all are numbers, else by their bytes."},
    {.key = "classes_count",
     .type = SettingType::kInt,
     .default_value = "",
     .help =
         "How many classes MultiClass and MultiClassOneVsAll have. Labels are numbers from 0 on "
         "below it; some may be without rows.",
     .min = 2,
     .max = kFitClassesMax},
    {.key = "class_weights",
     .type = SettingType::kTextList,
     .help = "What weights of rows are multiplied by, a number for each class in their order."},
    {.key = "scale_pos_weight",
     .type = SettingType::kFloat,
     .default_value = "",
     .help = "The weight of the second class of Logloss; the first has 1.",
     .min = 0,
     .max = 1e30},
    {.key = "auto_class_weights",
     .type = SettingType::kChoice,
     .default_value = "None",
     .help =
         "Weights of classes from sums of the rows' weights: the largest sum divided by that of "
         "the class (Balanced), or the root of it (SqrtBalanced).",
     .choices = "None|Balanced|SqrtBalanced"},
    {.key = "iterations",
     .type = SettingType::kInt,
     .default_value = "1000",
     .help = "Trees.",
     .min = 1,
     .max = 1000000},
    {.key = "learning_rate",
     .type = SettingType::kFloat,
     .default_value = "",
     .help = "What the values of leaves are multiplied by, above 0. Without it, and without "
             "l2_leaf_reg, leaf_estimation_method and leaf_estimation_iterations, RMSE and Logloss "
             "have CatBoost's choice by rows and iterations. Else it is 0.03.",
     .min = 0,
     .max = 1e6},
    {.key = "depth",
     .type = SettingType::kInt,
     .default_value = "6",
     .help = "Splits of a tree.",
     .min = 1,
     .max = 16},
    {.key = "l2_leaf_reg",
     .type = SettingType::kFloat,
     .default_value = "3",
     .help = "L2 regularisation of leaves, times the mean weight of a row.",
     .min = 0,
     .max = 1e30},
    {.key = "score_function",
     .type = SettingType::kChoice,
     .default_value = "Cosine",
     .help =
         "By what a split is judged. The Newton ones weigh rows by second derivatives; CatBoost "
         "has those on GPUs alone.",
     .choices = "Cosine|L2|NewtonCosine|NewtonL2"},
    {.key = "leaf_estimation_method",
     .type = SettingType::kChoice,
     .default_value = "",
     .help = "How the values of leaves are found. Exact, which is a quantile, is for MAE, Quantile "
             "and MAPE; they have no Newton. Without it they take Exact, and the others Newton.",
     .choices = "Newton|Gradient|Exact"},
    {.key = "leaf_estimation_iterations",
     .type = SettingType::kInt,
     .default_value = "",
     .help =
         "Steps that make the value of a leaf. Without it Logloss and CrossEntropy take 10 with "
         "Newton and 40 with Gradient, Expectile 5 and 10, Poisson 10 and 1, MultiClass and "
         "MultiClassOneVsAll 1 and 10, and the others 1. "
         "With fewer than 200 iterations and 20 features it is 1.",
     .min = 1,
     .max = 10000},
    {.key = "leaf_estimation_backtracking",
     .type = SettingType::kChoice,
     .default_value = "AnyImprovement",
     .help = "Whether a step of several is halved until the loss falls.",
     .choices = "AnyImprovement|No"},
    {.key = "boost_from_average",
     .type = SettingType::kBool,
     .default_value = "true",
     .help = "Training begins with the best constant. Without it RMSE, MAE, Quantile and MAPE do, "
             "and Logloss and CrossEntropy do not. The others cannot."},
    {.key = "use_best_model",
     .type = SettingType::kBool,
     .default_value = "true",
     .help = "With test_set, trees after the best eval_metric of the test rows are left out."},
    {.key = "feature_border_type",
     .type = SettingType::kChoice,
     .default_value = "GreedyLogSum",
     .help = "How the borders of numbers are chosen.",
     .choices = "GreedyLogSum|Median|Uniform|UniformAndQuantiles"},
    {.key = "border_count",
     .type = SettingType::kInt,
     .default_value = "254",
     .help = "Borders of a number, at most.",
     .min = 1,
     .max = 255},
    {.key = "nan_mode",
     .type = SettingType::kChoice,
     .default_value = "Min",
     .help = "Missing values are below all others, above all others, or an error.",
     .choices = "Min|Max|Forbidden"},
    {.key = "best_model_min_trees",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "With use_best_model, trees of which no fewer stay if so many are trained.",
     .min = 1,
     .max = 1e9},
    {.key = "od_type",
     .type = SettingType::kChoice,
     .default_value = "",
     .help =
         "What ends the training when the loss of the test rows no longer falls. Iter: its best "
         "is od_wait rounds old. IncToDec: it rises by much more than it fell. Wilcoxon: a "
         "signed-rank test of its changes since the best. Without it od_pval means IncToDec, "
         "and od_wait Iter.",
     .choices = "Iter|IncToDec|Wilcoxon"},
    {.key = "od_wait",
     .type = SettingType::kInt,
     .default_value = "20",
     .help = "Rounds after the best loss of the test rows that are always run.",
     .min = 1,
     .max = 1e9},
    {.key = "od_pval",
     .type = SettingType::kFloat,
     .default_value = "0",
     .help = "IncToDec and Wilcoxon end the training below this p-value: from 1e-10 to 0.01, as a "
             "rule.",
     .min = 0,
     .max = 1},
    {.key = "early_stopping_rounds",
     .type = SettingType::kInt,
     .default_value = "",
     .help = "Short for od_type = Iter with this od_wait.",
     .min = 1,
     .max = 1e9},
    {.key = "bootstrap_type",
     .type = SettingType::kChoice,
     .default_value = "MVS",
     .help = "How rows are sampled for the splits of a tree; leaves go by all rows. MVS keeps rows "
             "with a probability by their gradients, and weighs them by its inverse. Bernoulli "
             "keeps each with the same one. Bayesian weighs all by random numbers, and Poisson, "
             "which CatBoost has on GPUs alone, by whole ones. No: no sampling. Without "
             "it MultiClass and MultiClassOneVsAll have Bayesian.",
     .choices = "MVS|Bernoulli|Bayesian|Poisson|No"},
    {.key = "subsample",
     .type = SettingType::kFloat,
     .default_value = "",
     .help =
         "Share of the rows that MVS, Bernoulli and Poisson keep. Without it 0.8 with MVS, 0.66 "
         "with the others, and 1 with fewer than 100 rows.",
     .min = 0,
     .max = 1},
    {.key = "bagging_temperature",
     .type = SettingType::kFloat,
     .default_value = "1",
     .help = "Bayesian weights are exponential random numbers to this power; 0: all are 1.",
     .min = 0,
     .max = 100},
    {.key = "mvs_reg",
     .type = SettingType::kFloat,
     .default_value = "",
     .help = "What MVS adds to squared gradients. Without it, the squared mean of the sizes of the "
             "last tree's leaves.",
     .min = 0,
     .max = 1e30},
    {.key = "sampling_frequency",
     .type = SettingType::kChoice,
     .default_value = "PerTree",
     .help = "Whether a sample is drawn for each tree, or for each of its levels. The latter takes "
             "more time.",
     .choices = "PerTree|PerTreeLevel"},
    {.key = "random_strength",
     .type = SettingType::kFloat,
     .default_value = "1",
     .help = "How much noise is added to the scores of splits: normal numbers whose deviation is "
             "this times that of the gradients. It shrinks as the model grows. 0: none.",
     .min = 0,
     .max = 1e30},
    {.key = "rsm",
     .type = SettingType::kFloat,
     .default_value = "1",
     .help =
         "Probability with which a level of a tree looks at a feature (colsample_bylevel is the "
         "same). A level that looks at none ends its tree.",
     .min = 0,
     .max = 1},
    {.key = "feature_weights",
     .help = "What the score of a feature's split gains over the level before is multiplied by, 1 "
             "without it: (1,2,0.5) has a number for each feature, and 0:2,age:0.5 names some. In "
             "the file also a list or an object."},
    {.key = "first_feature_use_penalties",
     .help = "What scores of a feature's splits lose until a tree uses it: in the form of "
             "feature_weights."},
    {.key = "penalties_coefficient",
     .type = SettingType::kFloat,
     .default_value = "1",
     .help = "first_feature_use_penalties are multiplied by it.",
     .min = 0,
     .max = 1e30},
    {.key = "monotone_constraints",
     .help = "How predictions go with a feature, in the form of feature_weights. 1: they do not "
             "fall as it rises; -1: they do not rise; 0: they are free. Without model_shrink_rate "
             "the model then shrinks as with 0.01, or 0.2 if model_shrink_mode is Decreasing."},
    {.key = "ignored_features",
     .help = "Features that nothing is learned from: 0:5-9:age has indices, ranges and names. In "
             "the file also a list."},
    {.key = "model_shrink_rate",
     .type = SettingType::kFloat,
     .default_value = "0",
     .help = "How much the model shrinks before each tree but the first.",
     .min = 0,
     .max = 1e30},
    {.key = "model_shrink_mode",
     .type = SettingType::kChoice,
     .default_value = "Constant",
     .help = "Constant: 1 - model_shrink_rate * learning_rate remains. Decreasing: 1 - "
             "model_shrink_rate / trees.",
     .choices = "Constant|Decreasing"},
    {.key = "random_seed",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Seed of all that is random. The same seed gives the same model on any number of "
             "threads; another one than CatBoost's, whose random numbers are others.",
     .min = 0,
     .max = 9e18},
    {.key = "metric_period",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Progress and metrics are shown after each so many rounds, and after the last one.",
     .min = 1,
     .max = 1e9},
    {.key = "logging_level",
     .type = SettingType::kChoice,
     .default_value = "Verbose",
     .help = "Silent: no progress is shown on standard error.",
     .choices = "Silent|Verbose"},
    {.key = "verbose",
     .help = "false and 0 are logging_level = Silent; a number is metric_period."},
    {.key = "allow_writing_files",
     .default_value = "false",
     .help = "Must be false: the model alone is written."},
    {.key = "boosting_type",
     .default_value = "Plain",
     .help = "Must be Plain: Ordered is not there yet."},
    {.key = "grow_policy",
     .default_value = "SymmetricTree",
     .help = "Must be SymmetricTree: others are not there yet."},
    {.key = "task_type",
     .default_value = "CPU",
     .help = "Must be CPU: training on a GPU is not there yet."},
    {.key = "one_hot_max_size",
     .type = SettingType::kInt,
     .default_value = "2",
     .help = "Categories of up to so many values in the rows to learn from are split by single "
             "values. Those of more have statistics.",
     .min = 0,
     .max = 65536},
    {.key = "simple_ctr",
     .default_value = "Borders,Counter",
     .help = "The statistics of categories: Borders, Buckets, BinarizedTargetMeanValue and "
             "Counter, parted by commas. Each may have options, as in "
             "Borders:TargetBorderCount=2:TargetBorderType=MinEntropy:CtrBorderCount=15:Prior=0/1:"
             "Prior=1/1."},
    {.key = "combinations_ctr",
     .default_value = "Borders,Counter",
     .help = "The same of combinations of categories, with each other and with splits."},
    {.key = "per_feature_ctr",
     .help = "Statistics of single features instead of simple_ctr's, by their places among all "
             "features, parted by semicolons: 0:Borders,Counter;3:Buckets."},
    {.key = "ctr_target_border_count",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Borders that part labels into the classes that statistics count, where a statistic "
             "has no TargetBorderCount.",
     .min = 1,
     .max = 255},
    {.key = "max_ctr_complexity",
     .type = SettingType::kInt,
     .default_value = "",
     .help = "Categories that are combined, at most, where all splits count as one more. Without "
             "it 4, but 1, which combines none, with fewer than 200 iterations.",
     .min = 1,
     .max = 15},
    {.key = "model_size_reg",
     .type = SettingType::kFloat,
     .default_value = "0.5",
     .help = "How much the scores of statistics of many keys are lowered before a tree uses them.",
     .min = 0,
     .max = 1e6},
    {.key = "counter_calc_method",
     .default_value = "SkipTest",
     .help = "Must be SkipTest: Counter counts the rows to learn from alone."},
    {.key = "has_time",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Rows come in the order of their times, which statistics of categories keep. Without "
             "it rows are permuted."},
    {.key = "permutation_count",
     .type = SettingType::kInt,
     .default_value = "4",
     .help = "Orders of the rows that statistics of categories have: one for the values of leaves, "
             "and the others, at least one, for splits.",
     .min = 1,
     .max = 255},
    {.key = "fold_permutation_block",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Rows that stay together when they are permuted; 0 is one more than a thousandth of "
             "them, up to 256.",
     .min = 0,
     .max = 1000000000},
};

constexpr RefusedKey kRefusedFitSettings[] = {
    {"sampling_unit", "is not there yet: rows are sampled; remove it"},
    {"custom_metric", "is not there yet: eval_metric and the loss are measured; remove it"},
    {"custom_loss", "is not there yet: eval_metric and the loss are measured; remove it"},
    {"cat_features", "is not supported: give the columns the type Categ; remove it"},
    {"ctr_leaf_count_limit", "is not there yet: tables have all keys; remove it"},
    {"store_all_simple_ctr", "is not there yet: tables have all keys; remove it"},
    {"text_features", "is not there yet; remove it"},
    {"text_processing", "is not there yet; remove it"},
    {"embedding_features", "is not there yet; remove it"},
    {"per_object_feature_penalties", "is not there yet; remove it"},
    {"per_float_feature_quantization", "is not there yet; remove it"},
    {"input_borders_file", "is not there yet; remove it"},
    {"output_borders_file", "is not there yet; remove it"},
    {"target_border", "is not there yet: labels of Logloss are two classes; remove it"},
    {"min_data_in_leaf", "is for trees that are not there yet; remove it"},
    {"max_leaves", "is for trees that are not there yet; remove it"},
    {"langevin", "is not there yet; remove it"},
    {"diffusion_temperature", "is not there yet; remove it"},
    {"posterior_sampling", "is not there yet; remove it"},
    {"approx_on_full_history", "is for boosting that is not there yet; remove it"},
    {"fold_len_multiplier", "is for boosting that is not there yet; remove it"},
    {"save_snapshot", "is not there yet; remove it"},
    {"snapshot_file", "is not there yet; remove it"},
    {"snapshot_interval", "is not there yet; remove it"},
    {"devices", "is for GPUs, which do not train these trees yet; remove it"},
    {"gpu_ram_part", "is for GPUs, which do not train these trees yet; remove it"},
    {"used_ram_limit", "is not there yet; remove it"},
    {"train_dir", "is not supported: the model alone is written; remove it"},
    {"name", "is not supported; remove it"},
    {"learn_pairs", "is not there yet; remove it"},
    {"test_pairs", "is not there yet; remove it"},
    {"learn_group_weights", "is not there yet; remove it"},
    {"test_group_weights", "is not there yet; remove it"},
};

constexpr FitAlias kFitAliases[] = {
    {"cd", "column_description"},      {"n_estimators", "iterations"},
    {"num_boost_round", "iterations"}, {"num_trees", "iterations"},
    {"eta", "learning_rate"},          {"max_depth", "depth"},
    {"reg_lambda", "l2_leaf_reg"},     {"l2_leaf_regularizer", "l2_leaf_reg"},
    {"objective", "loss_function"},    {"max_bin", "border_count"},
    {"random_state", "random_seed"},   {"colsample_bylevel", "rsm"},
};

// Parameters of which one value is there.
struct OnlyValue {
  std::string_view key;
  std::string_view value;
};

constexpr OnlyValue kOnlyValues[] = {
    {"allow_writing_files", "false"},    {"boosting_type", "Plain"},
    {"grow_policy", "SymmetricTree"},    {"task_type", "CPU"},
    {"counter_calc_method", "SkipTest"},
};

Status CheckOnlyValues(const Settings& settings) {
  for (const OnlyValue& only : kOnlyValues) {
    const std::string& found = settings.Text(only.key);
    if (found == only.value) continue;
    return Invalid(fmt::format("{}: {} = {} is not there yet: expected {}",
                               settings.Origin(only.key), only.key, ShownBytes(found), only.value));
  }
  return {};
}

std::string_view KeyOf(std::string_view name) {
  const auto* const alias = std::ranges::find(kFitAliases, name, &FitAlias::name);
  return alias == std::end(kFitAliases) ? name : alias->key;
}

class FitReader {
 public:
  FitReader() : settings_(FitSettingsTable()) {}

  Status AddFile(Disk& disk, const std::string& path) {
    STRATA_ASSIGN(const std::string text, ReadTextFile(disk, path, kParamsBytesMax));
    STRATA_ASSIGN(const nlohmann::json json, ParseJson(text, path));
    if (!json.is_object()) return JsonAt(json, path).Expected("an object of parameters");
    std::set<std::string_view> seen;
    for (const auto& [name, value] : json.items()) {
      if (!seen.insert(KeyOf(name)).second) {
        return Invalid(fmt::format("{}: {} is given twice: give it once", path, KeyOf(name)));
      }
      if (const char mark = MarkOfList(KeyOf(name)); mark != 0 && value.is_array()) {
        const JsonAt list(value, fmt::format("{}: {}", path, name));
        STRATA_ASSIGN(const std::string joined, JoinedItems(list, mark));
        STRATA_TRY(settings_.Set(KeyOf(name), joined, path));
        continue;
      }
      if (const auto of_features =
              value.is_structured() ? FeatureText(name, value) : std::nullopt) {
        STRATA_TRY(settings_.Set(name, *of_features, path));
        continue;
      }
      if (value.is_structured() && HasRow(KeyOf(name))) {
        return JsonAt(value, fmt::format("{}: {}", path, name))
            .Expected("a text, a number, true or false");
      }
      STRATA_TRY(settings_.Set(KeyOf(name),
                               value.is_string() ? value.get<std::string>() : value.dump(), path));
    }
    return {};
  }

  Status AddWords(std::span<const std::string> words) { return SetWords(words, KeyOf, &settings_); }

  Result<FitOptions> Finish() {
    STRATA_TRY(CheckOnlyValues(settings_));
    FitOptions options;
    STRATA_ASSIGN(options.learn, ReadPoolOptions(settings_, "learn_set"));
    options.test = options.learn;
    options.test.path = settings_.Text("test_set");
    options.model_file = settings_.Text("model_file");
    options.threads = ThreadCount(settings_);
    STRATA_ASSIGN(options.display, ReadDisplay(settings_));
    if (options.learn.path.empty()) {
      return Invalid("learn_set is missing: expected learn_set=FILE, the rows to learn from");
    }
    if (options.model_file.empty()) return Invalid("model_file is empty: expected model_file=FILE");
    if (IsStandardInput(options.learn.path) && IsStandardInput(options.test.path)) {
      return Invalid("learn_set and test_set are both standard input: name a file for one");
    }
    STRATA_ASSIGN(options.parameters, Parameters());
    options.inputs = {{"column_description", options.learn.column_description}};
    for (const char* const key : {"learn_set", "test_set"}) {
      if (const std::string& path = settings_.Text(key); !IsStandardInput(path)) {
        options.inputs.push_back({key, path});
      }
    }
    return options;
  }

 private:
  static bool HasRow(std::string_view key) {
    return std::ranges::find(kFitSettings, key, &Setting::key) != std::end(kFitSettings);
  }

  // By what the items of a list are parted on the command line; 0: the key is no list.
  static char MarkOfList(std::string_view key) {
    if (key == "per_feature_ctr") return ';';
    const bool is_list = std::ranges::any_of(kFitSettings, [key](const Setting& row) {
      return row.key == key && row.type == SettingType::kTextList;
    });
    return is_list || key == "simple_ctr" || key == "combinations_ctr" ? ',' : '\0';
  }

  // The texts and numbers of a list, as a word of the command line has them.
  static Result<std::string> JoinedItems(const JsonAt& list, char mark) {
    STRATA_ASSIGN(const std::vector<JsonAt> items, list.Items());
    std::string joined;
    for (const JsonAt& item : items) {
      const nlohmann::json& value = item.value();
      if (value.is_structured()) return item.Expected("a text or a number");
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (text.find(mark) != std::string::npos) {
        return item.Expected(mark == ',' ? "a text without commas" : "a text without semicolons");
      }
      if (!joined.empty()) joined += mark;
      joined += text;
    }
    return joined;
  }

  // As float, as CatBoost has it.
  double Rounded(const char* key) const { return static_cast<float>(settings_.Float(key)); }

  // Nothing: it is chosen.
  Result<std::optional<double>> LearningRate() const {
    if (settings_.IsSet("learning_rate")) {
      const double rate = Rounded("learning_rate");
      if (rate > 0) return std::optional<double>(rate);
      return Invalid(fmt::format("{}: learning_rate: expected a number above 0, found {}",
                                 settings_.Origin("learning_rate"),
                                 settings_.Float("learning_rate")));
    }
    constexpr const char* kOfLeaves[] = {"l2_leaf_reg", "leaf_estimation_method",
                                         "leaf_estimation_iterations"};
    const bool is_chosen =
        std::ranges::none_of(kOfLeaves, [this](const char* key) { return settings_.IsSet(key); });
    return is_chosen ? std::optional<double>() : std::optional<double>(kDefaultLearningRate);
  }

  Result<FitParameters> Parameters() const {
    FitParameters p;
    p.iterations = static_cast<size_t>(settings_.Int("iterations"));
    STRATA_ASSIGN(p.learning_rate, LearningRate());
    p.depth = static_cast<size_t>(settings_.Int("depth"));
    p.l2_leaf_reg = Rounded("l2_leaf_reg");
    const std::string& score = settings_.Text("score_function");
    p.score = score == "Cosine"         ? ScoreFunction::kCosine
              : score == "L2"           ? ScoreFunction::kL2
              : score == "NewtonCosine" ? ScoreFunction::kNewtonCosine
                                        : ScoreFunction::kNewtonL2;
    STRATA_TRY(SetLossParameters(settings_, &p));
    STRATA_TRY(SetClassParameters(settings_, &p));
    p.backtracking = settings_.Text("leaf_estimation_backtracking") == "AnyImprovement";
    STRATA_TRY(SetEnd(settings_, &p));
    STRATA_ASSIGN(p.sampling, ReadSampling(settings_, p.loss.type));
    p.random_seed = static_cast<uint64_t>(settings_.Int("random_seed"));
    STRATA_ASSIGN(p.features, ReadFeatureRules(settings_));
    if (!p.features.directions.empty() && p.leaf_method == LeafMethod::kExact) {
      return Invalid(
          fmt::format("{}: monotone_constraints are not there yet for leaf_estimation_method = "
                      "Exact, which {} has by default: expected Gradient",
                      settings_.Origin("monotone_constraints"), LossText(p.loss)));
    }
    if (!p.features.directions.empty() && IsMultiClass(p.loss.type)) {
      return Invalid(fmt::format("{}: monotone_constraints are not there yet for {}: remove it",
                                 settings_.Origin("monotone_constraints"), LossText(p.loss)));
    }
    STRATA_ASSIGN(p.shrink, ReadShrinkage(settings_, !p.features.directions.empty()));
    p.random_strength = Rounded("random_strength");
    p.rsm = Rounded("rsm");
    if (!(p.rsm > 0)) {
      return Invalid(fmt::format("{}: rsm: expected a probability above 0, found {}",
                                 settings_.Origin("rsm"), settings_.Float("rsm")));
    }
    const std::string& borders = settings_.Text("feature_border_type");
    p.border_type = borders == "GreedyLogSum" ? BorderType::kGreedyLogSum
                    : borders == "Median"     ? BorderType::kMedian
                    : borders == "Uniform"    ? BorderType::kUniform
                                              : BorderType::kUniformAndQuantiles;
    p.border_count = static_cast<size_t>(settings_.Int("border_count"));
    const std::string& nan = settings_.Text("nan_mode");
    p.nan_mode = nan == "Min" ? NanMode::kMin : nan == "Max" ? NanMode::kMax : NanMode::kForbidden;
    STRATA_TRY(SetCategories(&p));
    return p;
  }

  size_t Count(const char* key) const { return static_cast<size_t>(settings_.Int(key)); }

  Status SetCategories(FitParameters* p) const {
    CategoryParameters& c = p->categories;
    c.one_hot_max_size = Count("one_hot_max_size");
    STRATA_TRY(SetCtrs("simple_ctr", &c.simple));
    STRATA_TRY(SetCtrs("combinations_ctr", &c.combinations));
    if (const std::string& text = settings_.Text("per_feature_ctr"); !text.empty()) {
      auto parsed = ParsePerFeatureCtrs(text);
      if (!parsed.ok()) return parsed.status().Prefixed(Where("per_feature_ctr"));
      c.per_feature = *std::move(parsed);
    }
    c.target_border_count = Count("ctr_target_border_count");
    c.max_ctr_complexity = settings_.IsSet("max_ctr_complexity") ? Count("max_ctr_complexity")
                           : p->iterations < 200                 ? 1
                                                                 : 4;
    c.model_size_reg = Rounded("model_size_reg");
    c.has_time = settings_.Bool("has_time");
    c.permutation_count = Count("permutation_count");
    if (const size_t block = Count("fold_permutation_block"); block > 0) {
      c.permutation_block = block;
    }
    return {};
  }

  Status SetCtrs(const char* key, std::vector<CtrDescription>* descriptions) const {
    auto parsed = ParseCtrDescriptions(settings_.Text(key));
    if (!parsed.ok()) return parsed.status().Prefixed(Where(key));
    *descriptions = *std::move(parsed);
    return {};
  }

  std::string Where(const char* key) const {
    return fmt::format("{}: {}", settings_.Origin(key), key);
  }

  Settings settings_;
};

}  // namespace

const SettingsTable& FitSettingsTable() {
  static constexpr SettingsTable kTable = {.title = "CatBoost's fit",
                                           .settings = kFitSettings,
                                           .repeated = {},
                                           .refused = kRefusedFitSettings};
  return kTable;
}

std::span<const FitAlias> FitAliases() { return kFitAliases; }

Result<FitOptions> LoadFitOptions(Disk& disk, const std::string& params_file,
                                  std::span<const std::string> words, const std::string& task) {
  if (task != "train") {
    return Invalid(fmt::format(
        "--task={}: --catboost-params trains: expected --task=train; without --catboost-params, "
        "model_file=FILE predicts and converts",
        task));
  }
  FitReader reader;
  STRATA_TRY(reader.AddFile(disk, params_file));
  STRATA_TRY(reader.AddWords(words));
  return reader.Finish();
}

}  // namespace strata
