// The rows of job.toml.
#include "storage/optimizer_fields.h"
#include "worker/job/job.h"
#include "worker/job/layer_settings.h"
#include "worker/job/optimizer_settings.h"
#include "worker/job/table_settings.h"
#include "worker/job/tree_settings.h"

namespace strata {
namespace {

using enum SettingType;

constexpr double kAnyMin = -1e308;
constexpr double kAnyMax = 1e308;
constexpr double kRowsMax = 2147483647;
constexpr auto kStepsMax = static_cast<double>(kOptimizerStepsMax);

constexpr Setting Row(std::string_view key, SettingType type, std::string_view default_value,
                      std::string_view help, double min = kAnyMin, double max = kAnyMax) {
  return {.key = key,
          .type = type,
          .default_value = default_value,
          .help = help,
          .min = min,
          .max = max,
          .choices = {},
          .flag = {}};
}

constexpr Setting Choice(std::string_view key, std::string_view choices,
                         std::string_view default_value, std::string_view help) {
  Setting row = Row(key, kChoice, default_value, help);
  row.choices = choices;
  return row;
}

// What both optimizers have beside their rule: storage/optimizer_fields.h.
#define STRATA_OPTIMIZER_ROWS(section, rate)                                                       \
  Row(section ".learning_rate", kFloat, rate, "Step size of " section ".optimizer.", 0, 1e6),      \
      Row(section ".epsilon", kFloat, "1e-7",                                                      \
          "Added to denominators by AdaGrad in both forms, RMSProp and Adam.", 0, 1),              \
      Row(section ".beta1", kFloat, "0.9", "Decay of Adam's mean gradient.", 0, 0.999999),         \
      Row(section ".beta2", kFloat, "0.999", "Decay of Adam's mean squared gradient.", 0,          \
          0.999999),                                                                               \
      Row(section ".initial_accumulator", kFloat, "0",                                             \
          "What AdaGrad's sum of squared gradients begins with.", 0, 1e6),                         \
      Row(section ".momentum", kFloat, "0.9",                                                      \
          "Share of the last step that momentum and Nesterov keep.", 0, 0.999999),                 \
      Row(section ".rho", kFloat, "0.9", "Decay of RMSProp's mean squared gradient.", 0,           \
          0.999999),                                                                               \
      Row(section ".l1", kFloat, "0", "FTRL's L1 penalty: weights that stay small are 0.", 0,      \
          1e6),                                                                                    \
      Row(section ".l2", kFloat, "0", "FTRL's L2 penalty.", 0, 1e6),                               \
      Row(section ".beta", kFloat, "0", "Added to the root in FTRL's learning rate.", 0, 1e6),     \
      Row(section ".clip_value", kFloat, "0",                                                      \
          "Gradients are brought into [-clip_value, clip_value], element by element. 0: as they "  \
          "are.",                                                                                  \
          0, 1e6),                                                                                 \
      Row(section ".clip_norm", kFloat, "0",                                                       \
          "Gradients of a larger Euclidean norm are scaled to this one: of each embedding row, "   \
          "or of the dense part as a whole. After clip_value. 0: as they are.",                    \
          0, 1e6),                                                                                 \
      Row(section ".weight_decay", kFloat, "0",                                                    \
          "This times the weight is added to its gradient (an L2 penalty), after clipping; of "    \
          "embeddings only to the rows of a step.",                                                \
          0, 1e6),                                                                                 \
      Row(section ".warmup_steps", kInt, "0",                                                      \
          "Steps in which the learning rate grows from 0 to learning_rate.", 0, kStepsMax),        \
      Row(section ".decay_start", kInt, "0",                                                       \
          "The last step at learning_rate before it falls, at least warmup_steps.", 0, kStepsMax), \
      Row(section ".decay_steps", kInt, "0",                                                       \
          "Steps in which the learning rate falls to end_learning_rate: it is learning_rate "      \
          "times the share of them that is left, to the power decay_power. 0: it stays.",          \
          0, kStepsMax),                                                                           \
      Row(section ".decay_power", kFloat, "2", "How the learning rate falls; 1: evenly.", 0, 100), \
      Row(section ".end_learning_rate", kFloat, "0", "The learning rate never falls below it.", 0, \
          1e6)

constexpr Setting kJobRows[] = {
    Row("job.name", kText, "job",
        "The job's name. Its tables' names begin with it, so that several jobs share a cluster and "
        "resume independently: 1 to 64 characters of A-Z, a-z, 0-9, '_', '.' and '-'."),
    Row("job.seed", kInt, "1",
        "Seeds initial values and the order of the rows. The same seed, data and number of workers "
        "give a model that is equal to the bit, on any number of servers.",
        0, 9.2e18),

    Row("data.train", kTextOrList, "",
        "Files of rows to train on: a path, a pattern such as \"day_*.tsv\", whose files come in "
        "the order of their names, or a list of those. Their rows follow one another. Relative to "
        "the job file; on the command line, to the working directory. Boosted trees read one "
        "file."),
    Row("data.test", kTextOrList, "",
        "Files of rows to evaluate and to predict, named as those of data.train. -: standard "
        "input, "
        "which one worker evaluates or predicts."),
    Choice(
        "data.format", "csv|criteo|libffm|libsvm|raw", "csv",
        "How the files are written: csv, a row a line, as the settings below say; criteo, "
        "Criteo's logs, whose columns are label, I1 to I13 and C1 to C26 by themselves; libffm, "
        "\"label field:feature:value ...\", and libsvm, \"label index:value ...\", which have no "
        "columns; raw, HugeCTR's binary records. docs/click-data.md."),
    Row("data.delimiter", kText, ",",
        "The one character between two fields, such as \";\". \"\\t\", \\t on the command line and "
        "the word tab mean the tab."),
    Row("data.header", kBool, "false", "The first line of a file names its columns."),
    Row("data.columns", kTextList, "",
        "The names of the columns, in order, of files without a header."),
    Row("data.missing", kTextList, "",
        "Fields that mean that there is no value. The empty field always does. A saved model does "
        "not hold this list, nor data.trim: evaluate and predict with those of its training. "
        "In numeric columns of job files, nan and NA are unreadable unless they are listed."),
    Row("data.trim", kBool, "true", "Blanks around a field do not belong to it."),
    Row("data.comment", kText, "",
        "Lines that begin with this text are skipped. Empty: there are no comments."),
    Row("data.label", kText, "", "The column to learn."),
    Row("data.label_positive", kTextList, "",
        "The texts of the label that mean 1. Needs data.label_negative; with both empty the label "
        "is the number 0 or 1, and any number for trees and for model.loss = \"mse\"."),
    Row("data.label_negative", kTextList, "", "The texts of the label that mean 0."),
    Row("data.weight", kText, "",
        "The column that holds each row's weight, a number of at least 0. Empty: all weigh 1."),
    Row("data.query", kText, "",
        "The column that holds the number of the query that a row belongs to, for trees that learn "
        "to rank; a query's rows stand together."),
    Row("data.group", kText, "",
        "The column whose texts divide the rows into groups, such as users: evaluation of click "
        "models then also gives gauc, the mean of the groups' AUCs, weighted by their rows' "
        "weights. It may be a feature, too. Rows without a value are a group."),
    Row("data.ignore", kTextList, "",
        "Columns that are not used. A column that is used nowhere and not listed here is an "
        "error."),
    Row("data.bad_share_max", kFloat, "0.001",
        "Share of unreadable lines in a worker's part of the files above which the job fails.", 0,
        1),

    Row("data.threads", kInt, "1",
        "Threads of a worker that parse the rows of a click model, of any format. One parses 0.2 "
        "to 0.3 gigabytes of text a second, or one of raw records; a GPU takes more. Batches are "
        "the same with any number.",
        1, 256),
    Row("data.raw_dense", kInt, "0", "Dense numbers of a raw record.", 0, 65536),
    Choice("data.raw_dense_type", "float|int", "float",
           "What they are: 32-bit floats, or 32-bit integers x of at least 0, of which the model "
           "sees log(x + 1)."),
    Choice("data.raw_label_type", "as_dense|float|int", "as_dense",
           "What a raw record's label is: a float or an integer of 32 bits, or of the type of "
           "data.raw_dense_type."),
    Row("data.raw_slots", kInt, "0", "Slots of a raw record, each of which has one key.", 0, 65536),
    Row("data.raw_keys", kIntList, "",
        "Keys of each slot, where some have several; data.raw_slots need not be given then.", 1,
        65536),

    Choice("model.kind", "logistic|fm|deepfm|wide_deep|dlrm|dcn|dcn_v2|layers|gbdt", "deepfm",
           "Logistic regression; a factorization machine; one with a neural network beside it; "
           "logistic regression with a network beside it; DLRM, which multiplies the features' "
           "vectors with each other; Deep & Cross and its second version; the layers that the job "
           "file names by [[layer]]; or boosted trees, whose settings are in [gbdt]."),
    Row("model.embedding_dim", kInt, "8", "Factors of each key. Unused by logistic regression.", 1,
        RowSchema::kDimMax - 1),
    Choice("model.combiner", "sum|mean", "sum",
           "What becomes of the rows of a slot that has several keys, of libffm, libsvm and raw: "
           "their sum, or that divided by the number of keys. Of fm, deepfm and the others with "
           "single weights it is of those as well."),
    Choice("model.loss", "logloss|mse", "logloss",
           "What training makes smaller: the logloss of probabilities, of labels 0 and 1, or the "
           "mean squared error of predictions, of labels that are any numbers."),
    Row("model.hidden", kIntList, "64,32",
        "Widths of the hidden layers, of all but logistic and fm. In dlrm and dcn_v2 they come "
        "after the vectors have met.",
        1, 65536),
    Row("model.bottom", kIntList, "",
        "Widths of the layers over the numeric features alone, of dlrm and dcn_v2. dlrm's last one "
        "must be embedding_dim; empty, it has one layer of that width, and dcn_v2 has none.",
        1, 65536),
    Row("model.cross_layers", kInt, "3", "Cross layers of dcn and dcn_v2.", 1, 64),
    Row("model.cross_rank", kInt, "16",
        "Rank of the two matrices of each of dcn_v2's cross layers: at most the width of what goes "
        "in, which also bounds the default.",
        1, 65536),
    Row("model.dropout", kFloat, "0",
        "Share of the hidden units that each training step leaves out.", 0, 0.99),
    Row("model.l2", kFloat, "0",
        "Penalty on large parameters: the loss gains l2 / 2 times the sum of their squares.", 0,
        1e6),

    Choice(
        "sparse.optimizer",
        "sgd|momentum|nesterov|adagrad|rowwise_adagrad|rmsprop|adam|lazy_adam|ftrl", "adagrad",
        "The rule by which the servers update embedding rows. rowwise_adagrad keeps one number a "
        "row; lazy_adam makes up for the steps that did not touch a row."),
    STRATA_OPTIMIZER_ROWS("sparse", "0.05"),
    Choice("sparse.initializer", "zero|uniform|normal", "normal",
           "How a row that no worker has updated yet looks, its single weight included. Rows of "
           "logistic "
           "regression always begin at 0."),
    Row("sparse.init_scale", kFloat, "0.01",
        "Bound of the uniform or deviation of the normal initializer.", 0, 1e3),
    Choice(
        "sparse.value_type", "fp32|bf16|fp16", "fp32",
        "What servers store embedding rows as; bf16 and fp16 take half the memory. Arithmetic is "
        "fp32 all the same, and what is stored is rounded up or down at random, so that small "
        "steps count on average. fp16 ends at 65504, beyond which a value is infinite; bf16 has "
        "the range of fp32."),
    Choice(
        "sparse.state_type", "fp32|bf16|fp16", "fp32",
        "The same for the optimizer's state, of those that have one. With fp16, sums and means of "
        "squares have a form of their own, which reaches 2^64; other state ends at 65504."),
    Choice(
        "sparse.placement", "auto|gpu", "auto",
        "Where rows are. auto: on the servers, or without servers in this process's memory. gpu: "
        "in the memory of compute.device, where nothing of a step but the batch goes over the "
        "host; for a job without servers."),
    Choice("sparse.ack", "default|applied|logged|synced", "default",
           "What must be true before servers acknowledge an update: applied, it is in memory; "
           "logged, it survives the server's process; synced, it survives loss of power. default: "
           "logged on servers with a data folder, applied elsewhere."),

    Choice("dense.optimizer", "sgd|momentum|nesterov|adagrad|rmsprop|adam|ftrl", "adam",
           "The rule by which the workers update the dense part of the model."),
    STRATA_OPTIMIZER_ROWS("dense", "0.001"),

    Row("train.batch_size", kInt, "1024",
        "Samples of a step, over all workers together: each takes its part.", 1, 16777216),
    Row("train.epochs", kInt, "1", "Passes over data.train.", 1, 1e6),
    Row("train.shuffle_rows", kInt, "65536",
        "Rows of the buffer from which a worker draws its next row at random. The order of its "
        "files also changes each epoch then. 0: the order of the files.",
        0, kRowsMax),
    Row("train.hint_batches", kInt, "1",
        "Batches ahead of their use whose keys servers are told, so that tables that do not fit "
        "their memory bring the rows up meanwhile. Each takes a batch's memory in the worker. More "
        "than 1 is for servers that need longer for that than a step takes. 0: servers are told "
        "nothing.",
        0, 4),
    Row("train.eval_every", kInt, "0",
        "Epochs between two evaluations on data.test. 0: only after the last.", 0, 1e6),
    Row("train.eval_every_steps", kInt, "0",
        "Steps between two evaluations on data.test, over all epochs; training waits meanwhile. "
        "0: none but those after epochs.",
        0, 1e9),
    Row("train.early_stopping", kInt, "0",
        "Evaluations in a row, none of them better than the best before, after which training "
        "ends. output.model then holds the model of the best evaluation, not of the last step: it "
        "is saved whenever one is the best so far, which takes as long as saving at the end. With "
        "a number that is never reached the best is kept all the same. 0: training goes through "
        "all epochs, and the last model is kept.",
        0, 1e6),
    Choice("train.best_by", "auc|logloss|gauc|mse", "auc",
           "Which evaluation is the better one for train.early_stopping: that of the larger AUC, "
           "of the smaller logloss, of the larger mean over data.group, or of the smaller mean "
           "squared error, which is the only one of model.loss = \"mse\". Of equal ones, the "
           "earlier."),

    Row("compute.device", kText, "cpu",
        "Where the network of a click model is computed: cpu, cuda or cuda:N for the GPU of that "
        "number, or auto for a GPU where there is one. sparse.placement says where rows are. With "
        "gbdt.algorithm = \"catboost\", where trees grow and predict."),
    Choice("compute.precision", "bf16|tf32|fp32", "bf16",
           "What matrix products on a GPU are computed in. Parameters, sums and logits are fp32 in "
           "any case; bf16 also keeps the layers' values in 16 bits. On the CPU all is fp32."),

    Row("compute.gpu_memory", kBytes, "0",
        "Memory of the GPU for the rows of sparse.placement = \"gpu\". 0: most of what is free.", 0,
        1e15),

    Row("output.model", kText, "",
        "Folder for the trained model, or the file of boosted trees. evaluate and predict read it; "
        "of a folder they refuse settings that contradict the model. Empty: it is not saved. "
        "Relative to the job file; on the command line, to the working directory."),
    Row("output.predictions", kText, "",
        "File for what predict writes: a line for each row of data.test, of click models the row's "
        "number, a comma and the probability, or the prediction of model.loss = \"mse\". A row "
        "that cannot be read has nan. -: standard "
        "output."),
    Row("output.dictionary", kBool, "false",
        "Training also writes output.model/dictionary.csv: the texts of categorical columns that "
        "data.train holds, each with its key in the table and the number of rows that have it."),

    Row("checkpoint.every_steps", kInt, "0",
        "Steps between two checkpoints of the training, which goes on meanwhile; one is taken "
        "before the first step too. 0: none is taken, and training always begins anew.",
        0, 1e9),
    Row("checkpoint.folder", kText, "",
        "Folder for the checkpoints of a job without servers. With servers it has no effect: they "
        "have a folder of their own. Relative to the job file; on the command line, to the working "
        "directory."),
    Row("checkpoint.keep", kInt, "3",
        "Checkpoints of this job.name that stay in checkpoint.folder, with all that they build on: "
        "the newest.",
        1, 1e6),
    Row("checkpoint.resume", kBool, "true",
        "Go on from the newest checkpoint of this very job, if there is one: same settings, data "
        "and number of workers; only train.epochs, the settings of evaluations, "
        "train.hint_batches, data.test and [output] may differ. false: begin anew; older "
        "checkpoints stay."),

    Choice("gbdt.algorithm", "lightgbm|catboost", "lightgbm",
           "Whose boosted trees are trained. lightgbm: those of LightGBM, whose parameters follow. "
           "catboost: CatBoost's oblivious trees; [gbdt] then has CatBoost's parameters, which the "
           "section \"CatBoost's fit\" lists, and none of those below."),
};

#undef STRATA_OPTIMIZER_ROWS

constexpr Setting kFeatureRows[] = {
    Row("columns", kTextList, "", "The columns; each becomes a feature of this kind."),
    Choice("kind", "numeric|bucketised|categorical", "categorical",
           "A number as it is; a number as the bucket that it falls into; a text."),
    Row("transforms", kTextList, "",
        "For numeric features, in this order: log (sign(x) log(1 + |x|)), standardise (minus the "
        "mean, divided by the deviation of data.train). A missing number becomes the mean."),
    Row("buckets", kInt, "32",
        "For bucketised features: how many buckets at most, cut so that each holds about as many "
        "rows of data.train. Missing numbers have a bucket of their own.",
        2, 65536),
    Row("keys_of", kText, "",
        "For categorical features: another categorical column whose texts name the same things. "
        "Equal texts in both columns then have one key, and one row. Empty: keys of their own."),
};

}  // namespace

const SettingsTable& JobSettingsTable() {
  static const std::vector<Setting> rows = [] {
    std::vector<Setting> all(std::begin(kJobRows), std::end(kJobRows));
    all.insert(all.end(), TreeSettings().begin(), TreeSettings().end());
    return all;
  }();
  static const std::vector<Setting> table_rows = [] {
    std::vector<Setting> all(TableSettingRows().begin(), TableSettingRows().end());
    const std::span<const Setting> of_optimizer = TableOptimizerRows(kJobRows);
    all.insert(all.end(), of_optimizer.begin(), of_optimizer.end());
    return all;
  }();
  static const RepeatedSection sections[] = {
      {"feature", "Inputs of the model, in order. A column may serve several kinds.", kFeatureRows},
      {"table",
       "Rows of some features, with vectors of their own length. Features that no table names are "
       "in one called embedding. Without a table, all features are in one.",
       table_rows, RefusedTableKeys()},
      {"layer",
       "Of model.kind = \"layers\": the layers of the network. The last one gives the logit.",
       LayerSettingRows()}};
  static const SettingsTable table = {"job.toml", rows, sections, RefusedTreeKeys()};
  return table;
}

}  // namespace strata
