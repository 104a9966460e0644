#include "worker/gbdt/lightgbm/parameter_table.h"

#include <algorithm>
#include <map>

namespace strata {
namespace {

using Task = TaskParameters;
using Data = DataParameters;
using Objective = ObjectiveParameters;
using Metric = MetricParameters;
using Boosting = BoostingParameters;
using Growth = GrowthParameters;
using Machine = MachineParameters;
using Predict = PredictParameters;

constexpr IdleParameter kWithoutEffect[] = {
    {"force_col_wise", "Histograms are made as the number of features and rows asks for."},
    {"force_row_wise", "The same."},
    {"histogram_pool_size hist_pool_size",
     "Histograms are kept of leaves that may yet be split, and no others."},
    {"is_enable_sparse is_sparse enable_sparse sparse",
     "Sparse features are put together by enable_bundle."},
    {"two_round two_round_loading use_two_round_loading",
     "Files are always read twice, block by block, so that they are never all in memory."},
    {"deterministic", "Results never depend on threads or timing."},
    {"precise_float_parser", "Numbers are always read exactly."},
    {"linear_lambda", "It is for linear_tree, which is refused."},
    {"lambdarank_position_bias_regularization",
     "It is for FILE.position, which ranking refuses to pass over."},
    {"gpu_platform_id", "It is for OpenCL, which is not here."},
    {"gpu_use_dp", "Sums are exact."},
    {"config config_file",
     "On the command line it names the train.conf, as --lightgbm-conf does. A file that is named "
     "in a train.conf is not read, which is warned of."}};

constexpr UnsupportedParameter kUnsupported[] = {
    {"linear_tree", "false", "Linear models in leaves."},
    {"linear_trees", "false", "Another name of linear_tree."},
    {"cegb_tradeoff", "1", "Costs of features, against gain."},
    {"cegb_penalty_split", "0", "Cost of a split."},
    {"cegb_penalty_feature_lazy", "", "Cost of a feature for each row."},
    {"cegb_penalty_feature_coupled", "", "Cost of a feature for a model."},
    {"parser_config_file", "", "A parser of the caller's own."},
    {"gpu_device_id", "-1", "The first GPU; here device_type = cuda:N names a GPU."}};

// LightGBM's other names for values of texts.
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
      {"xentlambda", "cross_entropy_lambda"},
      {"xendcg", "rank_xendcg"},
      {"xe_ndcg", "rank_xendcg"},
      {"xe_ndcg_mart", "rank_xendcg"},
      {"xendcg_mart", "rank_xendcg"}};
  return aliases;
}
const std::map<std::string_view, std::string_view>& OtherAliases() {
  static const std::map<std::string_view, std::string_view> aliases = {
      {"training", "train"},        {"prediction", "predict"},       {"test", "predict"},
      {"convert_model", "convert"}, {"refit_tree", "refit"},         {"gbrt", "gbdt"},
      {"random_forest", "rf"},      {"feature_parallel", "feature"}, {"data_parallel", "data"},
      {"voting_parallel", "voting"}};
  return aliases;
}

// Of names that blanks separate.
bool IsAmong(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t blank = names.find(' ');
    if (names.substr(0, blank) == name) return true;
    if (blank == std::string_view::npos) break;
    names.remove_prefix(blank + 1);
  }
  return false;
}

}  // namespace

std::span<const ParameterRow> ParameterRows() {
  static const std::vector<ParameterRow> rows = {
      {"task", "task_type", Member<&Task::name>,
       "What to do. evaluate (Strata's own) measures the model of input_model on data; convert "
       "writes the model of input_model as model_format into convert_model; save_binary writes "
       "FILE.bin of data and valid, and no model.",
       0, 0, "train|evaluate|predict|convert|refit|save_binary"},
      {"objective", "objective_type app application loss", Member<&Objective::name>,
       "What is learned: the loss, and what scores mean.", 0, 0,
       "regression|regression_l1|huber|fair|poisson|quantile|mape|gamma|tweedie|binary|multiclass|"
       "multiclassova|cross_entropy|cross_entropy_lambda|lambdarank|rank_xendcg"},
      {"boosting", "boosting_type boost", Member<&Boosting::mode>,
       "How trees are added: gradient boosting, a random forest, or boosting that drops trees "
       "(DART). goss is gbdt with data_sample_strategy = goss.",
       0, 0, "gbdt|rf|dart|goss"},
      {"metric", "metrics metric_types", Member<&Metric::names>,
       "What is measured after each round. Empty: what belongs to the objective. none: nothing."},
      {"data", "train train_data train_data_file data_filename", Member<&Data::path>,
       "File of rows to train on, or to predict."},
      {"valid", "test valid_data valid_data_file test_data test_data_file valid_filenames",
       Member<&Data::valid>, "Files of rows to measure on after each round."},
      {"input_model", "model_input model_in", Member<&Task::input_model>,
       "A model to predict with, to convert, to refit, or that training goes on from."},
      {"output_model", "model_output model_out", Member<&Task::output_model>,
       "File for the trained model. -: standard output."},
      {"output_result",
       "predict_result prediction_result predict_name prediction_name pred_name name_pred",
       Member<&Task::output_result>, "File for predictions. -: standard output."},
      {"header", "has_header", Member<&Data::header>,
       "The first line of text files names the columns."},
      {"label_column", "label", Member<&Data::label_column>,
       "The column to learn: its number from 0, or name:NAME. Empty: the first."},
      {"weight_column", "weight", Member<&Data::weight_column>,
       "The column with each row's weight, counted without the label's, or name:NAME."},
      {"group_column", "group group_id query_column query query_id", Member<&Data::group_column>,
       "The column that says which query a row belongs to, counted without the label's, or "
       "name:NAME."},
      {"ignore_column", "ignore_feature blacklist", Member<&Data::ignore_column>,
       "Columns that are not used, counted without the label's, or name:NAME,NAME."},
      {"categorical_feature", "cat_feature categorical_column cat_column categorical_features",
       Member<&Data::categorical_feature>,
       "Features whose numbers are categories, by their number or as name:NAME,NAME."},
      {"num_iterations",
       "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round "
       "n_estimators max_iter",
       Member<&Boosting::num_iterations>, "Rounds; each adds a tree, or one a class.", 0, 1e9},
      {"learning_rate", "shrinkage_rate eta", Member<&Boosting::learning_rate>,
       "What each tree's outputs are multiplied by.", 1e-300},
      {"num_leaves", "num_leaf max_leaves max_leaf max_leaf_nodes", Member<&Growth::num_leaves>,
       "Leaves of a tree at most.", 2, 131072},
      {"max_depth", "", Member<&Growth::max_depth>,
       "Levels of a tree at most. 0 or less: no bound.", -1e9, 1e9},
      {"num_threads", "num_thread nthread nthreads n_jobs", Member<&Machine::num_threads>,
       "Threads. 0: one for each core.", -1e9, 1024},
      {"device_type", "device", Member<&Machine::device_type>,
       "Where trees grow: cpu, cuda, cuda:N, or auto: on a GPU where there is one that will "
       "do. The trees are the same."},
      {"num_gpu", "", Member<&Machine::num_gpu>,
       "GPUs of this machine that grow each tree together, from the device's number on, each with "
       "a part of the rows. The trees are the same.",
       1, 16},
      {"gpu_device_id_list", "", Member<&Machine::gpu_device_id_list>,
       "The GPUs of this machine that grow each tree together, by number, where num_gpu is above "
       "1. Not given: num_gpu of them from the device's number on.",
       0, 1023},
      {"tree_learner", "tree tree_type tree_learner_type", Member<&Machine::tree_learner>,
       "How several workers share the work: each has a part of the rows (data), all rows and a "
       "part "
       "of the features (feature), or a part of the rows, of which they tell each other the "
       "features "
       "that most vote for (voting).",
       0, 0, "serial|data|feature|voting"},
      {"top_k", "topk", Member<&Machine::top_k>, "Features that each worker votes for, of voting.",
       1, 1e6},
      {"num_machines", "num_machine", Member<&Machine::num_machines>,
       "Workers that train together. 1: this process alone, whatever is listed. Not given: as many "
       "as "
       "are listed.",
       1, 65535},
      {"machines", "workers nodes", Member<&Machine::machines>,
       "The workers in rank order, \"ip:port,ip:port\", where no cluster file lists them."},
      {"machine_list_filename", "machine_list_file machine_list mlist",
       Member<&Machine::machine_list_filename>,
       "File with the workers in rank order, a line \"ip port\" each, where no cluster file lists "
       "them."},
      {"local_listen_port", "local_port port", Member<&Machine::local_listen_port>,
       "Port of this worker in that list, where several are of one machine. 0: its only one.", 0,
       65535},
      {"time_out", "", Member<&Machine::time_out>,
       "Minutes to wait for the other workers, at start and later. 0: what timeouts.connect and "
       "timeouts.collective say.",
       0, 1e6},
      {"pre_partition", "is_pre_partition", Member<&Machine::pre_partition>,
       "Each worker's data files are its own part of the rows. false: all have the same files, and "
       "read a part of them each."},
      {"min_data_in_leaf", "min_data_per_leaf min_data min_child_samples min_samples_leaf",
       Member<&SplitRules::min_data_in_leaf>, "Rows that each side of a split needs.", 0, 1e18},
      {"min_sum_hessian_in_leaf",
       "min_sum_hessian_per_leaf min_sum_hessian min_hessian min_child_weight",
       Member<&SplitRules::min_sum_hessian_in_leaf>,
       "Sum of second derivatives that each side of a split needs.", 0},
      {"lambda_l1", "reg_alpha l1_regularization", Member<&SplitRules::lambda_l1>,
       "L1 penalty on the outputs of leaves.", 0},
      {"lambda_l2", "reg_lambda lambda l2_regularization", Member<&SplitRules::lambda_l2>,
       "L2 penalty on the outputs of leaves.", 0},
      {"min_gain_to_split", "min_split_gain", Member<&SplitRules::min_gain_to_split>,
       "What a split must gain.", 0},
      {"max_delta_step", "max_tree_output max_leaf_output", Member<&SplitRules::max_delta_step>,
       "Bound on the outputs of leaves. 0 or less: none."},
      {"path_smooth", "", Member<&SplitRules::path_smooth>,
       "Draws the outputs of small leaves to those of their parents. 0: not at all.", 0},
      {"cat_l2", "", Member<&SplitRules::cat_l2>,
       "L2 penalty in splits of many categories against many, beside lambda_l2.", 0},
      {"cat_smooth", "", Member<&SplitRules::cat_smooth>,
       "Categories with fewer rows stand on the right side; also draws the order of categories to "
       "their mean.",
       0},
      {"max_cat_to_onehot", "", Member<&SplitRules::max_cat_to_onehot>,
       "Features of up to so many categories are split as one against the rest.", 1, 65535},
      {"max_cat_threshold", "", Member<&SplitRules::max_cat_threshold>,
       "Categories at most on the smaller side of a split.", 1, 65535},
      {"min_data_per_group", "", Member<&SplitRules::min_data_per_group>,
       "Rows that a group of categories needs.", 1, 1e18},
      {"max_bin", "max_bins", Member<&BinningRules::max_bin>, "Bins of a feature at most.", 2,
       65535},
      {"min_data_in_bin", "", Member<&BinningRules::min_data_in_bin>,
       "Rows of the sample that a bin needs.", 1, 1e18},
      {"use_missing", "", Member<&BinningRules::use_missing>,
       "Missing values have a side of their own in each split. false: they count as 0."},
      {"zero_as_missing", "", Member<&BinningRules::zero_as_missing>, "0 means missing."},
      {"feature_pre_filter", "", Member<&BinningRules::pre_filter>,
       "Leaves out features no split of which could have min_data_in_leaf rows on both sides."},
      {"max_bin_by_feature", "", Member<&Data::max_bin_by_feature>,
       "Bins of each feature at most, a number a feature. Not given: max_bin for all.", 2, 65535},
      {"forcedbins_filename", "", Member<&Data::forcedbins_filename>,
       "JSON file of bounds that bins have in any case: [{\"feature\": 0, \"bin_upper_bound\": "
       "[0.3, 0.5]}, ...]."},
      {"enable_bundle", "is_enable_bundle bundle", Member<&Data::enable_bundle>,
       "On a CPU, features of which no row has two that are not 0 share a column: less memory, and "
       "less time. The model is the same."},
      {"save_binary", "is_save_binary is_save_binary_file", Member<&Task::save_binary>,
       "Writes FILE.bin beside each data file, rows as bins: given as data, it is read in a "
       "fraction of the time."},
      {"bin_construct_sample_cnt", "subsample_for_bin", Member<&Data::bin_construct_sample_cnt>,
       "Rows of the sample from which the boundaries of bins are found.", 1, 1e12},
      {"bagging_fraction", "sub_row subsample bagging", Member<&Boosting::bagging_fraction>,
       "Share of the rows that a round learns from. Needs bagging_freq.", 1e-9, 1},
      {"bagging_freq", "subsample_freq", Member<&Boosting::bagging_freq>,
       "Rounds between two draws of the rows. 0: every round learns from all.", 0, 1e9},
      {"pos_bagging_fraction", "pos_sub_row pos_subsample pos_bagging",
       Member<&Boosting::pos_bagging_fraction>,
       "Share of the rows with positive labels that a round learns from. Needs bagging_freq.", 1e-9,
       1},
      {"neg_bagging_fraction", "neg_sub_row neg_subsample neg_bagging",
       Member<&Boosting::neg_bagging_fraction>, "Share of the other rows. Needs bagging_freq.",
       1e-9, 1},
      {"bagging_by_query", "", Member<&Boosting::bagging_by_query>,
       "Draws whole queries instead of rows. Needs bagging_freq."},
      {"data_sample_strategy", "", Member<&Boosting::data_sample_strategy>,
       "How the rows of a round are chosen: bagging, at random, or goss, those with the largest "
       "gradients and some of the others.",
       0, 0, "bagging|goss"},
      {"top_rate", "", Member<&Boosting::top_rate>,
       "Of goss: share of the rows that are kept for their large gradients.", 1e-9, 1},
      {"other_rate", "", Member<&Boosting::other_rate>,
       "Of goss: share of the rows drawn from the others.", 1e-9, 1},
      {"drop_rate", "rate_drop", Member<&Boosting::drop_rate>,
       "Of dart: share of the earlier trees that a round leaves out.", 0, 1},
      {"max_drop", "", Member<&Boosting::max_drop>,
       "Of dart: trees left out at most. 0 or less: no bound.", -1e9, 1e9},
      {"skip_drop", "", Member<&Boosting::skip_drop>,
       "Of dart: share of the rounds that leave no tree out.", 0, 1},
      {"xgboost_dart_mode", "", Member<&Boosting::xgboost_dart_mode>,
       "Of dart: weighs new and old trees as XGBoost does."},
      {"uniform_drop", "", Member<&Boosting::uniform_drop>,
       "Of dart: all trees are left out alike, not those more often that weigh more."},
      {"feature_fraction", "sub_feature colsample_bytree", Member<&Growth::feature_fraction>,
       "Share of the features that a tree may use.", 1e-9, 1},
      {"feature_fraction_bynode", "sub_feature_bynode colsample_bynode",
       Member<&Growth::feature_fraction_bynode>, "Share of those that a node may use.", 1e-9, 1},
      {"extra_trees", "extra_tree", Member<&Growth::extra_trees>,
       "Tries one random threshold for each feature of a node (extremely randomised trees)."},
      {"grow_policy", "", Member<&Growth::grow_policy>,
       "Strata's own, by XGBoost's name: in which order leaves are split. lossguide: the one that "
       "gains most; depthwise: those of a level, before any below them.",
       0, 0, "lossguide|depthwise"},
      {"monotone_constraints", "mc monotone_constraint monotonic_cst",
       Member<&Growth::monotone_constraints>,
       "Of each feature: 1: predictions may only rise with it, -1: only fall, 0: both.", -1, 1},
      {"monotone_constraints_method", "monotone_constraining_method mc_method",
       Member<&Growth::monotone_constraints_method>,
       "How they are kept: basic bounds the two sides of a split by the middle of their outputs. "
       "intermediate, which costs less in accuracy and more in time, by each other's outputs, and "
       "searches leaves that they touch anew. advanced costs least in accuracy and most in time: "
       "of leaves elsewhere, a child is bounded by those alone that touch its side of the split.",
       0, 0, "basic|intermediate|advanced"},
      {"monotone_penalty", "monotone_splits_penalty ms_penalty mc_penalty",
       Member<&Growth::monotone_penalty>,
       "Makes monotone splits near the root worth less: above 1, next to nothing on as many "
       "levels.",
       0},
      {"feature_contri", "feature_contrib fc fp feature_penalty", Member<&Growth::feature_contri>,
       "Of each feature: what the gains of its splits are multiplied with. Below 0 counts as 0."},
      {"interaction_constraints", "", Member<&Growth::interaction_constraints>,
       "Sets of features that may stand together on a path from the root: [0,1,2],[2,3]. A feature "
       "in no set is not used. At most 64 sets."},
      {"forcedsplits_filename", "fs forced_splits_filename forced_splits_file forced_splits",
       Member<&Growth::forcedsplits_filename>,
       "JSON file with the splits that each tree begins with."},
      {"seed", "random_seed random_state", Member<&TreeParameters::seed>,
       "The seed that all others follow from, if it is set.", -1e18, 1e18},
      {"data_random_seed", "data_seed", Member<&Data::data_random_seed>,
       "Seeds the sample of rows for bins, and the rounding of gradients.", -1e18, 1e18},
      {"bagging_seed", "bagging_fraction_seed", Member<&Boosting::bagging_seed>,
       "Seeds the choice of rows.", -1e18, 1e18},
      {"drop_seed", "", Member<&Boosting::drop_seed>, "Seeds which trees dart leaves out.", -1e18,
       1e18},
      {"feature_fraction_seed", "", Member<&Growth::feature_fraction_seed>,
       "Seeds the choice of features.", -1e18, 1e18},
      {"objective_seed", "", Member<&Objective::objective_seed>, "Seeds rank_xendcg.", -1e18, 1e18},
      {"extra_seed", "", Member<&Growth::extra_seed>, "Seeds the thresholds of extra_trees.", -1e18,
       1e18},
      {"num_class", "num_classes", Member<&Objective::num_class>,
       "Classes of multiclass objectives.", 1, 10000},
      {"boost_from_average", "", Member<&Boosting::boost_from_average>,
       "Starts from the constant that fits the labels best."},
      {"is_unbalance", "unbalance unbalanced_sets", Member<&Objective::is_unbalance>,
       "Makes both sides of binary, and of each class of multiclassova, weigh the same."},
      {"scale_pos_weight", "", Member<&Objective::scale_pos_weight>,
       "What positive rows of binary, and of each class of multiclassova, weigh.", 1e-300},
      {"sigmoid", "", Member<&Objective::sigmoid>,
       "Slope of the sigmoid of binary, multiclassova and lambdarank.", 1e-300},
      {"reg_sqrt", "", Member<&Objective::reg_sqrt>,
       "Learns the square root of the label (of regression)."},
      {"alpha", "", Member<&Objective::alpha>,
       "Where huber becomes linear; the share that quantile estimates.", 1e-300},
      {"fair_c", "", Member<&Objective::fair_c>, "Where fair becomes logarithmic.", 1e-300},
      {"poisson_max_delta_step", "", Member<&Objective::poisson_max_delta_step>,
       "Added to the exponent of poisson's second derivative.", 1e-300},
      {"tweedie_variance_power", "", Member<&Objective::tweedie_variance_power>,
       "From 1, near poisson, to 2, near gamma.", 1, 1.9999999},
      {"lambdarank_truncation_level", "", Member<&Objective::lambdarank_truncation_level>,
       "Rows of a query, from the best on, whose order counts.", 1, 1e9},
      {"lambdarank_norm", "", Member<&Objective::lambdarank_norm>,
       "Makes queries of any size weigh alike."},
      {"label_gain", "", Member<&Objective::label_gain>,
       "What each label, from 0 on, is worth in a ranking. Empty: 2^label - 1."},
      {"eval_at", "ndcg_eval_at ndcg_at map_eval_at map_at", Member<&Metric::eval_at>,
       "Positions at which ndcg and map are measured.", 1, 1e9},
      {"multi_error_top_k", "", Member<&Metric::multi_error_top_k>,
       "multi_error counts a row as wrong whose class is not among so many best ones.", 1, 1e9},
      {"auc_mu_weights", "", Member<&Metric::auc_mu_weights>,
       "How bad auc_mu takes each mistake to be: num_class x num_class numbers, a row for each "
       "class, a number for each class that it is taken for. Not given: all are alike."},
      {"metric_freq", "output_freq", Member<&Metric::metric_freq>,
       "Rounds between two measurements.", 1, 1e9},
      {"is_provide_training_metric", "training_metric is_training_metric train_metric",
       Member<&Metric::is_provide_training_metric>, "Measures on the training data too."},
      {"early_stopping_round", "early_stopping_rounds early_stopping n_iter_no_change",
       Member<&Metric::early_stopping_round>,
       "Training ends when no measurement on validation data got better for so many rounds. 0 or "
       "less: never.",
       -1e9, 1e9},
      {"early_stopping_min_delta", "", Member<&Metric::early_stopping_min_delta>,
       "What counts as better.", 0},
      {"first_metric_only", "", Member<&Metric::first_metric_only>,
       "Only the first metric stops training early."},
      {"snapshot_freq", "save_period", Member<&Task::snapshot_freq>,
       "Rounds between two copies of the model, at output_model.snapshot_iter_N. 0 or less: none.",
       -1e9, 1e9},
      {"refit_decay_rate", "", Member<&Task::refit_decay_rate>,
       "Of task = refit: what old outputs weigh beside those that the data asks for.", 0, 1},
      {"use_quantized_grad", "", Member<&Boosting::use_quantized_grad>,
       "Rounds gradients to num_grad_quant_bins steps, which is faster and coarser."},
      {"num_grad_quant_bins", "", Member<&Boosting::num_grad_quant_bins>,
       "Steps of the gradients of use_quantized_grad.", 2, 32766},
      {"quant_train_renew_leaf", "", Member<&Boosting::quant_train_renew_leaf>,
       "Takes the outputs of leaves from unrounded gradients, of use_quantized_grad."},
      {"stochastic_rounding", "", Member<&Boosting::stochastic_rounding>,
       "Rounds gradients to 16 bits or fewer up or down at random, so that their mean is kept. "
       "false: to the nearest."},
      {"gradient_bits", "", Member<&Boosting::gradient_bits>,
       "Strata's own: bits of a rounded gradient, 16 or 32. 0: 32 where rows are few, 16 "
       "elsewhere.",
       0, 32},
      {"report_file", "", Member<&Task::report_file>,
       "Strata's own: a report of the training is written to the files of this name with .json and "
       ".html. Empty: none."},
      {"predict_raw_score", "is_predict_raw_score predict_rawscore raw_score",
       Member<&Predict::raw_score>,
       "Predicts scores as they are, without the objective's transformation."},
      {"predict_leaf_index", "is_predict_leaf_index leaf_index", Member<&Predict::leaf_index>,
       "Predicts the leaf of each tree."},
      {"predict_contrib", "is_predict_contrib contrib", Member<&Predict::contributions>,
       "Predicts what each feature adds to the score (SHAP values), and the expected score."},
      {"num_iteration_predict", "", Member<&Predict::iterations>,
       "Rounds of the model that predict. 0 or less: all.", -1e9, 1e9},
      {"start_iteration_predict", "", Member<&Predict::start_iteration>, "The first of them.", 0,
       1e9},
      {"predict_disable_shape_check", "", Member<&Predict::disable_shape_check>,
       "Leaves features out that the model does not know, which is an error otherwise."},
      {"pred_early_stop", "", Member<&Predict::early_stop>,
       "A row takes no more trees once its class is sure enough. Binary, multiclass and ranking "
       "models only."},
      {"pred_early_stop_freq", "", Member<&Predict::early_stop_freq>,
       "Rounds of the model between two looks at the margin.", 1, 1e9},
      {"pred_early_stop_margin", "", Member<&Predict::early_stop_margin>,
       "The margin above which a class is sure: twice the size of a binary score, else the best "
       "score above the second.",
       0},
      {"saved_feature_importance_type", "", Member<&Task::saved_feature_importance_type>,
       "Feature importances in the model file: 0: how many splits, 1: what they gained.", 0, 1},
      {"convert_model", "convert_model_file", Member<&Task::convert_model>,
       "The file that the task convert writes. -: standard output."},
      {"model_format", "convert_model_language", Member<&Task::model_format>,
       "What the task convert writes: C++ source, LightGBM's text, XGBoost's JSON, or LightGBM's "
       "JSON dump. Tasks that read a model tell LightGBM's text and XGBoost's JSON apart "
       "themselves.",
       0, 0, "cpp|lightgbm|xgboost|json"},
      {"verbosity", "verbose", Member<&Task::verbosity>,
       "Below 0: errors only; 0: warnings too; 1: progress and the table of the result too.", -1e9,
       1e9},
  };
  return rows;
}

TreeParameters LightGbmDefaults() {
  TreeParameters parameters;
  parameters.task.output_model = "LightGBM_model.txt";
  parameters.task.output_result = "LightGBM_predict_result.txt";
  parameters.task.convert_model = "gbdt_prediction.cpp";
  return parameters;
}

const ParameterRow* FindParameter(std::string_view key) {
  for (const ParameterRow& row : ParameterRows()) {
    if (row.name == key || IsAmong(row.aliases, key)) return &row;
  }
  return nullptr;
}

std::string_view NameOf(std::string_view key) {
  const ParameterRow* const row = FindParameter(key);
  return row == nullptr ? key : row->name;
}

std::span<const UnsupportedParameter> UnsupportedParameters() { return kUnsupported; }

std::span<const IdleParameter> ParametersWithoutEffect() { return kWithoutEffect; }

bool IsWithoutEffect(std::string_view key) {
  return std::ranges::any_of(kWithoutEffect,
                             [&](const IdleParameter& idle) { return IsAmong(idle.names, key); });
}

std::string_view CanonicalChoice(std::string_view parameter, std::string_view value) {
  const auto& aliases = parameter == "objective" ? ObjectiveAliases() : OtherAliases();
  const auto alias = aliases.find(value);
  return alias == aliases.end() ? value : alias->second;
}

}  // namespace strata
