#include "worker/tasks/catboost/fit_settings.h"

#include <algorithm>
#include <iterator>

#include "worker/gbdt/catboost/train/class_labels.h"
#include "worker/tasks/catboost/pool_settings.h"

namespace strata {
namespace {

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
             "others are numbers."},
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
         "Tweedie:variance_power=P, Logloss (labels are two classes), CrossEntropy (labels are "
         "probabilities), MultiClass or MultiClassOneVsAll (labels are classes). Quantile alone "
         "does without its parameters."},
    {.key = "eval_metric",
     .help =
         "What is measured after each round besides the loss, and says which model is the best. "
         "It is a loss of the same kind of labels. With losses of classes and CrossEntropy it may "
         "be Accuracy, with Logloss and CrossEntropy also AUC of the test rows."},
    {.key = "allow_const_label",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Labels to learn from may all be the same. With Logloss class_names then names both "
             "classes; MultiClass and MultiClassOneVsAll do not take them."},
    {.key = "class_names",
     .type = SettingType::kTextList,
     .help = "The labels of classes in their order. Without it they are those of the rows, by "
             "number where all are numbers, else by their bytes."},
    {.key = "classes_count",
     .type = SettingType::kInt,
     .default_value = "0",
     .help =
         "How many classes MultiClass and MultiClassOneVsAll have, 2 at least. Labels are numbers "
         "from 0 on below it; some may be without rows. 0: it is not said.",
     .min = 0,
     .max = kFitClassesMax},
    {.key = "class_weights",
     .type = SettingType::kTextList,
     .help = "What weights of rows are multiplied by: a number for each class in their order, or "
             "NAME:NUMBER for each. In the file also an object."},
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
     .help =
         "What the values of leaves are multiplied by, above 0. Without it, and without "
         "l2_leaf_reg, leaf_estimation_method and leaf_estimation_iterations, RMSE, Logloss and "
         "MultiClass have CatBoost's choice by rows and iterations. Else it is 0.03.",
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
         "Steps that make the value of a leaf. Without it the loss decides, by Newton and by "
         "Gradient: Logloss and CrossEntropy take 10 and 40, Expectile 5 and 10, Poisson 10 and 1, "
         "MultiClass and MultiClassOneVsAll 1 and 10, the others 1. "
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
         "and od_wait Iter. Without test_set none of them has an effect.",
     .choices = "Iter|IncToDec|Wilcoxon"},
    {.key = "od_wait",
     .type = SettingType::kInt,
     .default_value = "20",
     .help = "Rounds after the best loss of the test rows that are always run. Without od_type and "
             "od_pval it ends the training as od_type = Iter does.",
     .min = 1,
     .max = 1e9},
    {.key = "od_pval",
     .type = SettingType::kFloat,
     .default_value = "0",
     .help = "IncToDec and Wilcoxon end the training below this p-value: from 1e-10 to 0.01, as a "
             "rule. 0: they never end it.",
     .min = 0,
     .max = 1},
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
     .help = "Progress, metrics and the time left are shown on standard error after each so many "
             "rounds, and after the last one; with --json an object each on standard output.",
     .min = 1,
     .max = 1e9},
    {.key = "logging_level",
     .type = SettingType::kChoice,
     .default_value = "Verbose",
     .help = "Silent: no progress is shown on standard error.",
     .choices = "Silent|Verbose"},
    {.key = "verbose",
     .help = "false and 0 are logging_level = Silent; a number is metric_period."},
    {.key = "task_type",
     .default_value = "CPU",
     .help = "GPU: the defaults of border_count and bootstrap_type are those that CatBoost has on "
             "GPUs, 128 and Bayesian, and that of device is auto.",
     .choices = "CPU|GPU"},
    {.key = "device",
     .help = "Where trees grow: cpu, cuda, cuda:N, or auto: on a GPU where there is one that will "
             "do. The model does not depend on it. Without a value: cpu."},
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

constexpr FitAlias kFitAliases[] = {
    {"cd", "column_description"},      {"n_estimators", "iterations"},
    {"num_boost_round", "iterations"}, {"num_trees", "iterations"},
    {"eta", "learning_rate"},          {"max_depth", "depth"},
    {"reg_lambda", "l2_leaf_reg"},     {"l2_leaf_regularizer", "l2_leaf_reg"},
    {"objective", "loss_function"},    {"max_bin", "border_count"},
    {"random_state", "random_seed"},   {"colsample_bylevel", "rsm"},
    {"verbose_eval", "verbose"},       {"early_stopping_rounds", "od_wait"},
};

}  // namespace

const SettingsTable& FitSettingsTable() {
  static constexpr SettingsTable kTable = {
      .title = "CatBoost's fit", .settings = kFitSettings, .repeated = {}};
  return kTable;
}

std::span<const FitAlias> FitAliases() { return kFitAliases; }

std::string_view FitKey(std::string_view name) {
  const auto* const alias = std::ranges::find(kFitAliases, name, &FitAlias::name);
  return alias == std::end(kFitAliases) ? name : alias->key;
}

}  // namespace strata
