#include "worker/tasks/catboost/calc_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/file/standard_input.h"
#include "worker/tasks/catboost/pool_settings.h"

namespace strata {
namespace {

constexpr Setting kCalcSettings[] = {
    {.key = "model_file", .help = "Path of the model, CatBoost's JSON. Required."},
    {.key = "input_path",
     .help =
         "Path of the rows to predict for: fields parted by the delimiter, one row a line, plain "
         "or compressed (gzip, zstd); - is standard input. Required to predict."},
    {.key = "column_description",
     .help = "Path of CatBoost's column description (cd is the same). For each column that is no "
             "number it has a line with the place, the type and perhaps a name, parted by tabs. "
             "Without it the first column is a label, and all others are numbers."},
    {.key = "output_path",
     .default_value = "output.tsv",
     .help = "File of the predictions, or of the model that is written; - is standard output."},
    {.key = "prediction_type",
     .type = SettingType::kChoice,
     .default_value = "RawFormulaVal",
     .help = "What the raw value of a row becomes: RawFormulaVal, Probability, Class or Exponent.",
     .choices = "RawFormulaVal|Probability|Class|Exponent"},
    kDelimiterSetting,
    kHasHeaderSetting,
    {.key = "thread_count",
     .type = SettingType::kInt,
     .default_value = "-1",
     .help = "Threads that predict; -1 is one a core. The numbers do not depend on them.",
     .min = -1,
     .max = 1024},
    {.key = "device",
     .default_value = "cpu",
     .help = "Where the trees predict: cpu, cuda, cuda:N, or auto: on a GPU where there is one "
             "that will do. The numbers do not depend on it."},
};

constexpr RefusedKey kRefusedCalcSettings[] = {
    {"model_format", "is not supported: models are CatBoost's JSON; remove it"},
    {"output_columns", "is not supported: the columns are SampleId and the predictions; remove it"},
    {"tree_count_limit", "is not supported: all trees predict; remove it"},
    {"eval_period", "is not supported: all trees predict at once; remove it"},
    {"ignore_csv_quoting", "is not supported: fields may stand in double quotes; remove it"},
    {"feature_names_path", "is not supported: name features in the column description; remove it"},
    {"virtual_ensembles_count", "is not supported; remove it"},
};

constexpr std::string_view kOfRows[] = {"input_path", "column_description", "prediction_type",
                                        "delimiter",  "has_header",         "thread_count",
                                        "device"};

std::string_view KeyOfWord(std::string_view word) { return word.substr(0, word.find('=')); }

std::string_view OptionOf(std::string_view name) {
  return name == "cd" ? "column_description" : name;
}

Status CheckTask(const Settings& settings, const std::string& task) {
  if (task != "predict" && task != "convert") {
    return Invalid(fmt::format(
        "--task={}: a model of CatBoost (model_file) can predict and be converted: expected "
        "--task=predict or --task=convert",
        task));
  }
  if (settings.Text("model_file").empty()) {
    return Invalid("model_file is empty: expected model_file=FILE");
  }
  if (task == "predict") {
    if (!settings.Text("input_path").empty()) return {};
    return Invalid("input_path is missing: expected input_path=FILE, the rows to predict for");
  }
  for (const std::string_view key : kOfRows) {
    if (!settings.IsSet(key)) continue;
    return Invalid(fmt::format("{} has no effect on --task=convert: remove it", key));
  }
  STRATA_TRY(CheckIsJson("output_path", settings.Text("output_path")));
  if (settings.IsSet("output_path")) return {};
  return Invalid("output_path is missing: expected output_path=FILE, where the model is written");
}

}  // namespace

const SettingsTable& CalcSettingsTable() {
  static constexpr SettingsTable kTable = {.title = "CatBoost's calc",
                                           .settings = kCalcSettings,
                                           .repeated = {},
                                           .refused = kRefusedCalcSettings};
  return kTable;
}

bool NameCatBoostModel(std::span<const std::string> words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return KeyOfWord(word) == "model_file"; });
}

Result<CalcOptions> ParseCalcOptions(std::span<const std::string> words, const std::string& task) {
  Settings settings(CalcSettingsTable());
  STRATA_ASSIGN(const std::vector<KeyWord> options_given, SplitWords(words, OptionOf));
  for (const KeyWord& word : options_given) {
    STRATA_TRY(settings.Set(word.key, word.value, "command line"));
  }
  STRATA_TRY(CheckTask(settings, task));
  CalcOptions options = {.task = task,
                         .model_file = settings.Text("model_file"),
                         .rows = {},
                         .output_path = settings.Text("output_path"),
                         .prediction_type = settings.Text("prediction_type"),
                         .threads = ThreadCount(settings),
                         .device = {},
                         .inputs = {}};
  const Result<DeviceChoice> device = ParseDevice(settings.Text("device"));
  if (!device.ok()) return device.status().Prefixed("device");
  options.device = *device;
  STRATA_ASSIGN(options.rows, ReadPoolOptions(settings, "input_path"));
  options.inputs = {{"model_file", options.model_file},
                    {"column_description", options.rows.column_description}};
  if (!IsStandardInput(options.rows.path)) {
    options.inputs.push_back({"input_path", options.rows.path});
  }
  return options;
}

}  // namespace strata
