// What people get wrong in confs, data and models: each gets one error, whose text is pinned here:
// what, where, expected and found, what to do.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

struct Case {
  std::string name;
  std::map<std::string, std::string> files;  // by name
  std::string conf;                          // after data = rows.csv, if it names no other data
  std::string message;                       // {} stands for the folder, with a slash
};

// 60 rows of a label, 0 or 1, and three features.
std::string GoodRows() {
  std::string rows;
  for (int i = 0; i < 60; ++i)
    rows += fmt::format("{},{},{},{}\n", i % 2, i % 7, i * 37 % 11, i % 3);
  return rows;
}

std::string Lines(const std::string& line, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += line + "\n";
  return lines;
}

// A NumPy file of version 1.0 whose header is `header` and whose elements take `bytes`.
std::string Npy(std::string header, size_t bytes) {
  header += std::string(63 - (header.size() + 10) % 64, ' ') + "\n";
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + std::string(bytes, '\0');
}

std::string FloatsNpy(const std::string& shape, size_t bytes) {
  return Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", bytes);
}

// One tree of three leaves, with `from` replaced.
std::string Model(const std::string& from = "", const std::string& to = "") {
  std::string model =
      "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=2\n"
      "objective=regression\nfeature_names=a b c\nfeature_infos=[0:6] [0:10] [0:2]\n\n"
      "Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=1 0\nsplit_gain=2 1\nthreshold=4.5 1.5\n"
      "decision_type=2 2\nleft_child=1 -1\nright_child=-2 -3\nleaf_value=0.1 0.2 0.3\n"
      "leaf_weight=10 20 30\nleaf_count=10 20 30\ninternal_value=0 0\ninternal_weight=60 40\n"
      "internal_count=60 40\nis_linear=0\nshrinkage=1\n\n\nend of trees\n";
  if (from.empty()) return model;
  const size_t at = model.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return model.replace(at, from.size(), to);
}

std::vector<Case> ConfCases() {
  const std::string rows = GoodRows();
  return {
      {"objective",
       {},
       "objective = binry\n",
       "conf:2: objective: expected one of regression|regression_l1|huber|fair|poisson|quantile|"
       "mape|gamma|tweedie|binary|multiclass|multiclassova|cross_entropy|cross_entropy_lambda|"
       "lambdarank|rank_xendcg, "
       "found 'binry'"},
      {"classes",
       {},
       "objective = softmax\n",
       "conf:2: objective = multiclass needs num_class of at least 2"},
      {"key",
       {},
       "num_leavs = 3\n",
       "conf:2: unknown parameter 'num_leavs'; did you mean num_leaves?"},
      {"range",
       {},
       "num_leaves = 1\n",
       "conf:2: num_leaves: expected a number from 2 to 131072, found '1'"},
      {"number",
       {},
       "learning_rate = fast\n",
       "conf:2: learning_rate: expected a number, found 'fast'"},
      {"equals", {}, "num_leaves 3\n", "conf:2: expected key = value, found 'num_leaves 3'"},
      {"twice",
       {},
       "eta = 0.1\nlearning_rate = 0.2\n",
       "conf:3: learning_rate is set again; it was at conf:2"},
      {"unsupported",
       {},
       "linear_tree = true\n",
       "conf:2: linear_tree is a parameter of LightGBM that Strata does not support: remove it (or "
       "leave it at false)"},
      {"share",
       {},
       "objective = quantile\nalpha = 1.5\n",
       "conf:3: alpha: expected below 1 for quantile"},
      {"no data", {}, "data =\n", "data is missing: expected data = FILE"},
      {"no file", {}, "data = {}none.csv\n", "cannot open {}none.csv: No such file or directory"},
      {"no model", {}, "task = predict\n", "input_model is missing: expected input_model = FILE"},
      {"metric fits not",
       {},
       "metric = multi_error\n",
       "conf:2: metric = multi_error does not fit objective = regression with num_class = 1"},
      {"no metric to stop by",
       {},
       "valid = {}rows.csv\nearly_stopping_round = 5\nmetric = None\n",
       "conf:3, conf:4: early_stopping_round has nothing to go by with metric = none: remove one"},
      {"metric",
       {},
       "data = {}none.csv\nmetric = aucc\n",
       "conf:2: metric = aucc: not known: "
       "expected some of l1, l2, rmse, r2, quantile, huber, fair, poisson, mape, gamma, "
       "gamma_deviance, tweedie, binary_logloss, binary_error, cross_entropy, "
       "cross_entropy_lambda, kullback_leibler, auc, average_precision, multi_logloss, "
       "multi_error, auc_mu, accuracy, ndcg, map, none"},
      {"bytes",
       {},
       "num_leaves = \x1b[31m\xff\n",
       "conf:2: num_leaves: expected a whole number, found '\\x1b[31m\\xff'"},
      {"folder of predictions",
       {},
       "task = predict\ninput_model = none\noutput_result = {}no/result\n",
       "output_result = {}no/result: expected a file in a folder that is there: cannot list {}no: "
       "No such file or directory"},
      {"folder of a converted model",
       {},
       "task = convert\ninput_model = none\nconvert_model = {}no/model\n",
       "convert_model = {}no/model: expected a file in a folder that is there: cannot list {}no: "
       "No such file or directory"},
      {"folder for a model",
       {},
       "output_model = {}\n",
       "output_model = {}: is a folder; expected a file"},
      {"folder for predictions",
       {},
       "task = predict\ninput_model = none\noutput_result = {}\n",
       "output_result = {}: is a folder; expected a file"},
      {"model over data",
       {},
       "output_model = {}./rows.csv\n",
       "output_model = {}./rows.csv would take the place of {}rows.csv, a file of data: name "
       "another"},
      {"model over weights of a validation set",
       {{"valid.csv.weight", "1\n"}},
       "valid = {}wide.csv,{}valid.csv\noutput_model = {}valid.csv.weight\n",
       "output_model = {}valid.csv.weight would take the place of {}valid.csv.weight, a file of "
       "valid: name another"},
      {"report over forced splits",
       {{"forced.json", "{}"}},
       "forcedsplits_filename = {}forced.json\nreport_file = {}forced\n",
       "report_file = {}forced: {}forced.json would take the place of {}forced.json, a file of "
       "forcedsplits_filename: name another"},
      {"predictions over their model",
       {{"model.txt", ""}},
       "task = predict\ninput_model = {}model.txt\noutput_result = {}model.txt\n",
       "output_result = {}model.txt would take the place of {}model.txt, a file of input_model: "
       "name another"},
      {"positions",
       {{"rows.csv.query", "60\n"}, {"rows.csv.position", Lines("1", 60)}},
       "objective = lambdarank\n",
       "{}rows.csv.position: ranking does not take the places of rows into account (LightGBM's "
       "unbiased lambdarank): remove or rename the file to train without them"},
      {"positions in a saved file",
       {{"rows.csv.query", "60\n"}, {"rows.csv.position", Lines("1", 60)}},
       "task = save_binary\nobjective = lambdarank\n",
       "{}rows.csv.position: ranking does not take the places of rows into account (LightGBM's "
       "unbiased lambdarank): remove or rename the file to train without them"},
      {"binary again",
       {{"rows.csv", "STRATADS"}},
       "task = save_binary\n",
       "{}rows.csv: is a file of save_binary already"},
      {"no queries",
       {},
       "objective = lambdarank\n",
       "{}rows.csv: ranking needs queries: give {}rows.csv.query (rows of each query, one a line), "
       "or group_column"},
      {"gains",
       {{"rows.csv.query", "60\n"}},
       "objective = lambdarank\nlabel_gain = 1\n",
       "{}rows.csv: row 2: ranking needs whole labels from 0 to 0 (label_gain names their gains), "
       "found 1"},
      {"category",
       {},
       "categorical_feature = 9\n",
       "categorical_feature: '9': {}rows.csv has no such feature among 3"},
      {"label column", {}, "label_column = 12\n", "{}rows.csv: column 12: there are 4 columns"},
      {"no names",
       {},
       "label_column = name:y\n",
       "{}rows.csv: column 'name:y': there is no header: set header = true"},
      {"weight is the label",
       {{"rows.csv", "y,a,b,c\n" + rows}},
       "header = true\nweight_column = name:y\n",
       "{}rows.csv: column 'name:y' is the label"}};
}

std::vector<Case> GrowthCases() {
  const auto forced = [](const std::string& name, const std::string& json,
                         const std::string& message, const std::string& more = "") {
    return Case{"forced " + name,
                {{"forced.json", json}},
                "min_data_in_leaf = 1\nforcedsplits_filename = {}forced.json\n" + more,
                "{}forced.json: " + message};
  };
  return {
      {"monotone length",
       {},
       "monotone_constraints = 1,0\n",
       "{}rows.csv: monotone_constraints: expected a number for each of the 3 features, found 2"},
      {"monotone number",
       {},
       "monotone_constraints = 1,0,2\n",
       "conf:2: monotone_constraints: expected a number from -1 to 1, found '1,0,2'"},
      {"monotone category",
       {},
       "monotone_constraints = 0,0,1\ncategorical_feature = 2\n",
       "monotone_constraints: feature 2 (Column_2) is categorical, which has no order: expected 0, "
       "found 1"},
      {"monotone method",
       {},
       "monotone_constraints = 1,0,0\nmc_method = precise\n",
       "conf:3: mc_method: expected one of basic|intermediate|advanced, found 'precise'"},
      {"monotone neighbours renewed",
       {},
       "monotone_constraints = 1,0,0\nmc_method = intermediate\nuse_quantized_grad = true\n"
       "quant_train_renew_leaf = true\n",
       "conf:3, conf:5: monotone_constraints_method = intermediate bounds leaves by each other's "
       "outputs, "
       "which quant_train_renew_leaf gives them anew: remove one"},
      {"monotone neighbours voting",
       {},
       "monotone_constraints = 1,0,0\nmc_method = advanced\ntree_learner = voting\n",
       "conf:3, conf:4: monotone_constraints_method = advanced is not supported with "
       "tree_learner = "
       "voting, whose ranks keep no sums of leaves to search them again: set tree_learner = data"},
      {"monotone renewed",
       {},
       "monotone_constraints = 1,0,0\nobjective = mae\n",
       "conf:2, conf:3: monotone_constraints cannot be kept with objective = regression_l1, which "
       "gives "
       "leaves outputs of their own: remove one"},
      {"monotone forced",
       {},
       "monotone_constraints = 1,0,0\nforcedsplits_filename = {}forced.json\n",
       "conf:2, conf:3: forcedsplits_filename and monotone_constraints exclude each other, as a "
       "forced split "
       "may break a constraint: remove one"},
      {"factors",
       {},
       "feature_contri = 1,0.5,1,1\n",
       "{}rows.csv: feature_contri: expected a number for each of the 3 features, found 4"},
      {"sets",
       {},
       "interaction_constraints = [0,1],[1,two]\n",
       "conf:2: interaction_constraints: sets like [0,1,2],[2,3]: expected the number of a feature "
       "at "
       "place 10, found 'two]'"},
      {"open set",
       {},
       "interaction_constraints = [0,1\n",
       "conf:2: interaction_constraints: sets like [0,1,2],[2,3]: expected ']' at place 5, found "
       "''"},
      {"set's feature",
       {},
       "interaction_constraints = [0,1],[3]\n",
       "{}rows.csv: interaction_constraints: expected numbers of features from 0 to 2, found 3"},
      {"too many sets",
       {},
       "interaction_constraints = [0]" +
           [] {
             std::string more;
             for (int i = 0; i < 64; ++i) more += ",[1]";
             return more;
           }() +
           "\n",
       "conf:2: interaction_constraints: 65 sets: expected at most 64"},
      {"policy",
       {},
       "grow_policy = widthwise\n",
       "conf:2: grow_policy: expected one of lossguide|depthwise, found 'widthwise'"},
      {"no forced file",
       {},
       "forcedsplits_filename = {}none.json\n",
       "forcedsplits_filename: cannot open {}none.json: No such file or directory"},
      forced("word", "{\"feature\":\n 0, thresh}",
             "line 2, column 5: expected JSON, found 'thresh}'"),
      forced("cut", "{\"feature\": 0",
             "line 1, column 14: expected JSON, found the end of the file"),
      forced("array", "[1]",
             "the root: expected an object with a whole number as 'feature' and a number as "
             "'threshold'"),
      forced("child", R"({"feature": 0, "threshold": 2.5, "right": {"feature": 1}})",
             "the root.right: expected an object with a whole number as 'feature' and a number as "
             "'threshold'"),
      forced("feature", R"({"feature": 3, "threshold": 2.5})",
             "the root: feature: expected 0 to 2, found 3"),
      forced("category", R"({"feature": 2, "threshold": 9})",
             "the root: threshold: feature Column_2 has no category 9 of its own",
             "categorical_feature = 2\n"),
      forced("too many",
             R"({"feature": 0, "threshold": 2.5, "left": {"feature": 1, "threshold": 3}})",
             "2 splits: expected at most 1, as num_leaves = 2", "num_leaves = 2\n"),
      forced("deep", R"({"feature": 0, "threshold": 2.5, "left": {"feature": 1, "threshold": 3}})",
             "the root.left: expected at most 1 levels, as max_depth says", "max_depth = 1\n"),
      forced("apart", R"({"feature": 0, "threshold": 2.5, "left": {"feature": 1, "threshold": 3}})",
             "the root.left: feature 1 is in no set of interaction_constraints together with those "
             "above it",
             "interaction_constraints = [0,2],[1,2]\n"),
      {"forced constant",
       {{"rows.csv", Lines("1,5,3", 30) + Lines("0,5,2", 30)},
        {"forced.json", R"({"feature": 0, "threshold": 5})"}},
       "forcedsplits_filename = {}forced.json\n",
       "{}forced.json: the root: feature 0 (Column_0) has one value alone in the data, or is left "
       "out by feature_pre_filter or ignore_column: it cannot be split"}};
}

std::vector<Case> TextCases() {
  const std::string rows = GoodRows();
  const auto with = [&](const std::string& name, const std::string& text,
                        const std::string& message, const std::string& conf = "") {
    return Case{name, {{"rows.csv", text}}, conf, "{}rows.csv" + message};
  };
  return {
      with("empty", "", ": no row: expected one row a line"),
      with("header alone", "y,a,b\n", ": no row: expected one row a line behind the header",
           "header = true\n"),
      with("header's length", "y,a\n" + rows, ": the header names 2 columns, the first row has 4",
           "header = true\n"),
      with("header's names", "y,a,b,a\n" + rows,
           ": the header names columns 1 and 3 'a': expected each name once", "header = true\n"),
      with("short row", rows + "1,2\n", ":61: expected 4 columns, found 2"),
      with("long row", rows + "1,2,3,4,5\n", ":61: expected 4 columns, found more"),
      with("word", rows + "1,two,3,4\n",
           ":61: expected a number, found 'two': job files (--job) read texts as categories: see "
           "docs/trees.md"),
      with("bytes", rows + "1,\x1b]0;\xfe\x01,3,4\n",
           ":61: expected a number, found '\\x1b]0;\\xfe\\x01'"),
      with("no label", rows + "nan,2,3,4\n", ":61: the label is missing or infinite"),
      with("huge label", rows + "1e300,2,3,4\n",
           ":61: the label is too large: expected at most 3.4e38"),
      with("format", "a b c\n",
           ": unknown format: expected comma- or tab-separated numbers, or libsvm ('label "
           "index:value ...'); found 'a b c': fields seem to be separated by ' ': change them to "
           "commas or tabs, or use a job file with data.delimiter = \" \""),
      with("descending", "1 3:1 2:1\n", ":1: feature 2 behind 3: expected ascending indices"),
      with("huge index", "1 3:1 99999999:1\n",
           ":1: feature 99999999: at most 16777216 features are supported"),
      with("negative index", "1 -3:1\n", ":1: expected index:value, found '-3:1'"),
      with("query's name", "1 qid:x 3:1\n", ":1: expected qid:NUMBER, found 'qid:x'"),
      with("torn query", "1 qid:1 0:5\n0 qid:2 0:6\n1 qid:1 0:7\n",
           ": the rows of query 1 do not stand together: row 3 is apart"),
      with("huge category", rows + "1,20000000,3,1\n",
           ": categorical_feature Column_0: 20000000 is too large: expected numbers from 0 to "
           "16777215: number the categories anew",
           "categorical_feature = 0\n"),
      {"class",
       {},
       "objective = multiclass\nnum_class = 2\nvalid = {}valid.csv\n",
       "{}valid.csv: row 1: metric = multi_logloss needs whole labels from 0 to 1 (num_class - 1), "
       "found 5"},
      {"amount",
       {},
       "objective = gamma\n",
       "{}rows.csv: row 1: objective = gamma needs labels above 0, found 0"},
      {"wide",
       {},
       "valid = {}wide.csv\n",
       "{}wide.csv: expected the 3 features of the training data and a label, found 6 columns"}};
}

std::vector<Case> OtherFileCases() {
  const auto side = [](const std::string& suffix, const std::string& text,
                       const std::string& message) {
    return Case{
        suffix + " " + message, {{"rows.csv" + suffix, text}}, "", "{}rows.csv" + suffix + message};
  };
  const auto npy = [](const std::string& name, const std::string& text,
                      const std::string& message) {
    return Case{name, {{"rows.npy", text}}, "data = {}rows.npy\n", "{}rows.npy: " + message};
  };
  std::vector<Case> cases = {
      side(".weight", "1\n2\n", ": 2 weights, but the data has 60 rows: expected as many"),
      side(".weight", Lines("-1", 60), ":1: expected one weight of at least 0"),
      side(".weight", Lines("x", 60), ":1: expected numbers, found 'x'"),
      side(".weight", "\x1f\x8b\x08\x01",
           ": expected numbers as text, found compressed with gzip: unpack it first (gunzip FILE)"),
      side(".query", "\x1f\x8b\x08\x01",
           ": expected numbers as text, found compressed with gzip: unpack it first (gunzip FILE)"),
      side(".query", "30\n31\n",
           ": queries of 61 rows together, but the data has 60 rows: expected as many"),
      side(".query", "30.5\n29.5\n", ":1: expected one number of rows"),
      side(".init", "1\n", ": scores of 1 row, but the data has 60 rows: expected as many"),
      {"weights", {{"rows.csv.weight", Lines("0", 60)}}, "", "{}rows.csv: all weights are 0"},
      npy("2^31 rows", FloatsNpy("(2147483648, 4)", 64),
          "2147483648 x 4 elements of 4 bytes do not make its 192 bytes"),
      npy("2^62 rows", FloatsNpy("(4611686018427387904, 4)", 64),
          "4611686018427387904 x 4 elements of 4 bytes do not make its 192 bytes"),
      npy("truncated", FloatsNpy("(10, 4)", 100),
          "10 x 4 elements of 4 bytes do not make its 228 bytes"),
      npy("one dimension", FloatsNpy("(10,)", 40),
          "expected two dimensions, rows and columns, found (10,)"),
      npy("integers", Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (10, 4), }", 320),
          "expected elements '<f4' or '<f8', found '<i8': save "
          "x.astype('float32')"),
      npy("by columns", Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (10, 4), }", 160),
          "expected a row-major array: save numpy.ascontiguousarray(x)"),
      npy("text", "hello, this is no array",
          "no NumPy array: expected a file that begins with \\x93NUMPY; numpy.save writes one")};
  const auto model = [&](const std::string& name, const std::string& text,
                         const std::string& message) {
    cases.push_back({name,
                     {{"model.txt", text}},
                     "task = predict\ninput_model = {}model.txt\n",
                     "{}model.txt:" + message});
  };
  model("empty model", "", "0: expected a LightGBM text model, whose first line is 'tree'");
  model("version", Model("version=v4", "version=v9"), "2: version v9: expected v2, v3 or v4");
  model("cycle", Model("left_child=1 -1", "left_child=0 -1"),
        "18: left_child, right_child: child 0 has two parents");
  model("self", Model("right_child=-2 -3", "right_child=-2 1"),
        "18: left_child, right_child: child 1 has two parents");
  model("child", Model("left_child=1", "left_child=999"),
        "18: left_child, right_child: child 999: the tree has 2 nodes and 3 leaves");
  model("too few", Model("left_child=1 -1", "left_child=1"),
        "18: left_child: expected 2 numbers, found 1");
  model("huge", Model("num_leaves=3", "num_leaves=2000000000"),
        "12: num_leaves: 2000000000, num_cat = 0: expected 1 to 4194304 leaves, fewer sets");
  model("negative", Model("num_leaves=3", "num_leaves=-1"),
        "12: num_leaves: expected whole numbers from 0 on, found '-1'");
  model("part of a child", Model("left_child=1", "left_child=1.5"),
        "18: left_child: expected whole numbers, found '1.5 -1'");
  model("negative features", Model("max_feature_idx=2", "max_feature_idx=-5"),
        "6: max_feature_idx: -5: expected -1 (no feature) or more");
  std::string windows;
  for (const char c : Model("feature_infos", "tree_sizes=1\nfeature_infos")) {
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  }
  const size_t tree_bytes = windows.find("end of trees") - windows.find("Tree=0");
  model("lines of Windows", windows,
        fmt::format("9: tree_sizes: tree 0 has {} bytes, found 1: lines end with CR LF, expected "
                    "LF alone, as LightGBM writes and counts",
                    tree_bytes));
  model("features", Model("max_feature_idx=2", "max_feature_idx=7"),
        "8: feature_names: max_feature_idx = 7 makes 8 features, found 3");
  model("feature", Model("split_feature=1", "split_feature=77"),
        "14: split_feature: 77: the model has 3 features");
  model("not a number", Model("leaf_value=0.1", "leaf_value=nan"),
        "20: leaf_value: number 0 is nan: expected a finite one");
  model("threshold", Model("threshold=4.5 1.5", "threshold=4.5 nan"),
        "16: threshold: number 1 is NaN");
  model("missing line", Model("threshold", "thresold"), "28: threshold= is missing");
  model("set", Model("decision_type=2", "decision_type=1"),
        "16: threshold: a categorical node uses set 4.5, there are 0");
  model("linear", Model("is_linear=0", "is_linear=1"),
        "26: trees with linear leaves are not supported");
  return cases;
}

std::string Resolved(std::string text, const std::string& folder) {
  for (size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) {
    text.replace(at, 2, folder);
  }
  return text;
}

Status StatusOf(const TempFolder& folder, const Case& c) {
  WriteWholeFile(folder.File("rows.csv"), GoodRows());
  WriteWholeFile(folder.File("valid.csv"), "5,1,2,3\n");
  WriteWholeFile(folder.File("wide.csv"), "1,2,3,4,5,6\n");
  for (const auto& [name, text] : c.files) WriteWholeFile(folder.File(name), text);
  std::string conf = c.conf;
  if (conf.find("data =") == std::string::npos) conf = "data = {}rows.csv\n" + conf;
  conf = Resolved(conf, folder.path() + "/");
  std::vector<std::string> overrides = {"num_threads=1", "verbosity=-1"};
  for (const std::string output : {"output_model", "output_result"}) {
    if (conf.find(output + " =") != std::string::npos) continue;
    overrides.push_back(output + "=" + folder.File(output + ".txt"));
  }
  STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf(conf, "conf", overrides));
  const TreeTaskContext context = {.disk = RealDisk(),
                                   .clock = RealClock(),
                                   .progress = [](const TreeProgress&) {},
                                   .check = [] { return Status::Ok(); }};
  return RunTreeTask(parameters, context).status();
}

void ExpectEachIsNamed(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const TempFolder folder;
    const Status status = StatusOf(folder, c);
    EXPECT_FALSE(status.ok()) << c.name;
    EXPECT_EQ(status.message(), Resolved(c.message, folder.path() + "/")) << c.name;
  }
}

TEST(BadInputs, GoodOnesWork) {
  const TempFolder folder;
  EXPECT_TRUE(StatusOf(folder, {"good", {}, "num_iterations = 2\n", ""}).ok());
  const Status status = StatusOf(
      folder,
      {"good model", {{"model.txt", Model()}}, "task = predict\ninput_model = {}model.txt\n", ""});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(BadInputs, AModelGoesOnInItsOwnFile) {
  const TempFolder folder;
  const std::string conf = "input_model = {}model.txt\noutput_model = {}model.txt\n";
  const std::map<std::string, std::string> files = {{"model.txt", Model()}};
  EXPECT_TRUE(StatusOf(folder, {"train", files, conf + "num_iterations = 2\n", ""}).ok());
  EXPECT_TRUE(StatusOf(folder, {"refit", files, conf + "task = refit\n", ""}).ok());
}

TEST(BadInputs, APipeIsNoOutput) {
  const TempFolder folder;
  WriteWholeFile(folder.File("rows.csv"), "");
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(StatusOf(folder, {"pipe", {}, "output_model = {}pipe\n", ""}).message(),
            "output_model = " + folder.File("pipe") + ": is a pipe; expected a file");
}

TEST(BadInputs, ConfsSayWhatIsWrong) { ExpectEachIsNamed(ConfCases()); }
TEST(BadInputs, RulesOfGrowthSayWhatIsWrong) { ExpectEachIsNamed(GrowthCases()); }
TEST(BadInputs, RowsSayWhatIsWrong) { ExpectEachIsNamed(TextCases()); }
TEST(BadInputs, SideFilesArraysAndModelsSayWhatIsWrong) { ExpectEachIsNamed(OtherFileCases()); }

}  // namespace
}  // namespace strata
