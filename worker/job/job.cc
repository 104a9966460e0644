#include "worker/job/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/job/catboost_settings.h"
#include "worker/job/config_look.h"
#include "worker/job/data_settings.h"
#include "worker/job/job_files.h"
#include "worker/job/layer_settings.h"
#include "worker/job/optimizer_settings.h"
#include "worker/job/table_settings.h"
#include "worker/job/tree_settings.h"
#include "worker/job/wrong_setting.h"
#include "worker/model/model_shape.h"

namespace strata {
namespace {

constexpr uint64_t kJobBytesMax = 16 << 20;
constexpr size_t kNameMax = 64;
constexpr std::string_view kPaths[] = {"data.train", "data.test", "output.model",
                                       "output.predictions", "checkpoint.folder"};

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

// Loads the file and the overrides into the table's values.
Status LoadSettings(std::string_view text, const std::string& file,
                    std::span<const std::string> overrides, Settings* settings) {
  STRATA_TRY(settings->LoadToml(text, file));
  for (const std::string& override_text : overrides) {
    const size_t equals = override_text.find('=');
    if (equals == std::string::npos) {
      return Invalid(fmt::format("'{}': expected section.key=value", override_text));
    }
    STRATA_TRY(settings->Set(override_text.substr(0, equals), override_text.substr(equals + 1),
                             "command line"));
  }
  return Status::Ok();
}

// Texts are quoted and escaped, so that no two values look alike and each is one line.
std::string ValueText(const Settings& settings, const Setting& row) {
  switch (row.type) {
    case SettingType::kBool:
      return fmt::format("{}", settings.Bool(row.key));
    case SettingType::kInt:
      return fmt::format("{}", settings.Int(row.key));
    case SettingType::kFloat:
      return fmt::format("{}", settings.Float(row.key));
    case SettingType::kText:
    case SettingType::kChoice:
      return fmt::format("{:?}", settings.Text(row.key));
    case SettingType::kBytes:
      return fmt::format("{}", settings.Bytes(row.key));
    case SettingType::kDuration:
      return fmt::format("{}", settings.Duration(row.key));
    case SettingType::kTextList:
    case SettingType::kTextOrList:
      return fmt::format("{}", settings.TextList(row.key));
    case SettingType::kIntList:
      return fmt::format("{}", settings.IntList(row.key));
  }
  return "";
}

bool IsOfTrees(std::string_view key) { return key.starts_with("gbdt.") || key == "data.query"; }

// All of the table, so that a setting that is added to it is here too.
void ListSettings(const Settings& settings, JobConfig* job) {
  for (const Setting& row : JobSettingsTable().settings) {
    const std::string key(row.key);
    if (IsOfTrees(key)) continue;
    if (settings.IsSet(key)) job->origins[key] = settings.Origin(key);
    if (std::ranges::count(kPaths, row.key) == 0) {
      job->settings.push_back({key, ValueText(settings, row)});
      continue;
    }
    const bool is_list = row.type == SettingType::kTextOrList;
    const bool none = is_list ? settings.TextList(key).empty() : settings.Text(key).empty();
    job->settings.push_back({key, none ? "none" : "a path"});
  }
  for (const RepeatedSection& section : JobSettingsTable().repeated) {
    size_t number = 0;
    for (const Settings& element : settings.Repeated(section.name)) {
      ++number;
      for (const Setting& row : section.settings) {
        if (IsOptional(row) && !element.IsSet(row.key)) continue;
        job->settings.push_back(
            {fmt::format("{}[{}].{}", section.name, number, row.key), ValueText(element, row)});
      }
    }
  }
}

bool HasTexts(const DataSpec& data) {
  return std::ranges::any_of(data.features, [](const FeatureSpec& feature) {
    return feature.kind == FeatureKind::kCategorical;
  });
}

float FloatOf(const Settings& settings, std::string_view key) {
  return static_cast<float>(settings.Float(key));
}

uint32_t CountOf(const Settings& settings, std::string_view key) {
  return static_cast<uint32_t>(settings.Int(key));
}

std::vector<uint32_t> WidthList(const Settings& settings, std::string_view key) {
  std::vector<uint32_t> widths;
  for (const int64_t width : settings.IntList(key)) widths.push_back(static_cast<uint32_t>(width));
  return widths;
}

Status ReadLayerSections(const Settings& settings, JobConfig* job) {
  const std::vector<Settings>& sections = settings.Repeated("layer");
  if (!WidthsOf(job->model).layers) {
    if (sections.empty()) return {};
    return Invalid(fmt::format(
        "{}: [[layer]] has no effect on model.kind = \"{}\", whose layers are fixed: remove the "
        "section, or use model.kind = \"layers\"",
        sections[0].Where(), ModelKindName(job->model)));
  }
  if (sections.empty()) {
    return Wrong(settings, "model.kind",
                 "is \"layers\", but there is no [[layer]]: name the network's layers; "
                 "--print-graph shows those of another kind");
  }
  STRATA_ASSIGN(job->layers, ReadLayers(settings));
  const bool drops = std::ranges::any_of(job->layers, &LayerSpec::is_hidden);
  if (settings.Float("model.dropout") > 0 && !drops) {
    return Wrong(
        settings, "model.dropout",
        "has no effect: no [[layer]] has dropout = true: set that in one, or remove model.dropout");
  }
  return {};
}

// The widths that a model of this kind has. Others have no effect.
Status ReadWidths(const Settings& settings, JobConfig* job) {
  const ModelWidths has = WidthsOf(job->model);
  if (has.embedding_dim) job->embedding_dim = CountOf(settings, "model.embedding_dim");
  if (has.hidden) {
    job->hidden = WidthList(settings, "model.hidden");
    if (job->hidden.empty()) {
      return Wrong(settings, "model.hidden",
                   job->model == ModelKind::kDeepFm
                       ? "is empty: name a width, or use model.kind = \"fm\" for no hidden layer"
                       : "is empty: name at least one width");
    }
  }
  if (has.bottom) job->bottom = WidthList(settings, "model.bottom");
  if (job->model == ModelKind::kDlrm) {
    if (job->bottom.empty()) job->bottom = {job->embedding_dim};
    if (job->bottom.back() != job->embedding_dim) {
      return Wrong(settings, "model.bottom",
                   fmt::format("ends with {}: expected model.embedding_dim, {}, as what the layer "
                               "gives meets the features' vectors",
                               job->bottom.back(), job->embedding_dim));
    }
  }
  STRATA_TRY(ReadLayerSections(settings, job));
  if (has.cross_layers) job->cross_layers = CountOf(settings, "model.cross_layers");
  if (has.cross_rank) job->cross_rank = CountOf(settings, "model.cross_rank");
  const std::tuple<const char*, bool, const char*> keys[] = {
      {"model.hidden", has.hidden, "deepfm"},
      {"model.dropout", has.hidden || has.layers, "deepfm"},
      {"model.bottom", has.bottom, "dlrm"},
      {"model.cross_layers", has.cross_layers, "dcn_v2"},
      {"model.cross_rank", has.cross_rank, "dcn_v2"}};
  for (const auto& [key, has_effect, other_kind] : keys) {
    if (has_effect || !settings.IsSet(key)) continue;
    job->warnings.push_back(fmt::format(
        "{}: {} has no effect on model.kind = \"{}\": remove it, or use model.kind = \"{}\"",
        settings.Origin(key), key, ModelKindName(job->model), other_kind));
  }
  return Status::Ok();
}

Status ReadCompute(const Settings& settings, JobConfig* job) {
  const Result<DeviceChoice> device = ParseDevice(settings.Text("compute.device"));
  if (!device.ok()) return Wrong(settings, "compute.device", device.status().message());
  job->device = *device;
  if (device->kind == DeviceKind::kCpu && settings.IsSet("compute.precision")) {
    return Wrong(settings, "compute.precision",
                 "has no effect on compute.device = \"cpu\", where all is fp32: remove it");
  }
  job->rows_on_gpu = settings.Text("sparse.placement") == "gpu";
  job->gpu_memory_bytes = settings.Bytes("compute.gpu_memory");
  if (job->rows_on_gpu && device->kind != DeviceKind::kCuda) {
    return Wrong(settings, "sparse.placement",
                 fmt::format("is \"gpu\", but compute.device is \"{}\": expected \"cuda\" or "
                             "\"cuda:N\", as rows need a GPU that is there",
                             settings.Text("compute.device")));
  }
  if (job->rows_on_gpu && settings.Float("model.l2") > 0) {
    return Wrong(settings, "model.l2",
                 "has no effect on rows with sparse.placement = \"gpu\": use sparse.weight_decay "
                 "and dense.weight_decay");
  }
  if (!job->rows_on_gpu && settings.IsSet("compute.gpu_memory")) {
    return Wrong(settings, "compute.gpu_memory",
                 "has no effect without sparse.placement = \"gpu\": remove it");
  }
  const std::string& precision = settings.Text("compute.precision");  // one of three choices
  job->precision = precision == "fp32"   ? GemmPrecision::kFp32
                   : precision == "tf32" ? GemmPrecision::kTf32
                                         : GemmPrecision::kBf16;
  return Status::Ok();
}

// Slots of columns, and those of raw records of one key each, have no two keys to be combined.
Status ReadCombiner(const Settings& settings, JobConfig* job) {
  job->combiner = CombinerOf(settings.Text("model.combiner")).value();  // a choice
  if (job->combiner == Combiner::kSum || job->data.sparse.has_value()) return {};
  if (job->data.raw.has_value()) {
    const std::vector<uint32_t>& keys = job->data.raw->slot_keys;
    if (std::ranges::any_of(keys, [](uint32_t count) { return count > 1; })) return {};
    return Wrong(settings, "model.combiner",
                 "is \"mean\", but each slot has one key a record: name the numbers of keys by "
                 "data.raw_keys, or remove model.combiner");
  }
  return Wrong(settings, "model.combiner",
               fmt::format("is \"mean\", but with data.format = \"{}\" each feature has one key a "
                           "row: remove it",
                           settings.Text("data.format")));
}

// A key of trees in a job of another kind.
Status WithoutTrees(const Settings& settings, std::string_view key) {
  return Wrong(settings, key,
               fmt::format("has no effect on model.kind = \"{}\": remove it, or use "
                           "model.kind = \"gbdt\"",
                           settings.Text("model.kind")));
}

Status ReadModel(const Settings& settings, JobConfig* job) {
  const std::string& kind = settings.Text("model.kind");
  for (const Setting& row : JobSettingsTable().settings) {
    if (!IsOfTrees(row.key) || !settings.IsSet(row.key)) continue;
    return WithoutTrees(settings, row.key);
  }
  job->model = ModelKindOf(kind).value();  // the setting's choices are these
  STRATA_TRY(ReadWidths(settings, job));
  STRATA_TRY(ReadCombiner(settings, job));
  job->loss = LossKindOf(settings.Text("model.loss")).value();  // a choice
  job->data.label_is_number = job->loss == LossKind::kMse && job->data.label_positive.empty();
  job->dropout = FloatOf(settings, "model.dropout");
  job->l2 = FloatOf(settings, "model.l2");
  STRATA_ASSIGN(job->sparse_optimizer, ReadOptimizer(settings, "sparse"));
  STRATA_ASSIGN(job->sparse_initializer.kind,
                ParseInitializerKind(settings.Text("sparse.initializer")));
  job->sparse_initializer.scale = FloatOf(settings, "sparse.init_scale");
  STRATA_ASSIGN(job->sparse_ack, ParseAckLevel(settings.Text("sparse.ack")));
  STRATA_ASSIGN(job->sparse_value_type, ParseElementType(settings.Text("sparse.value_type")));
  STRATA_ASSIGN(job->sparse_state_type, ParseElementType(settings.Text("sparse.state_type")));
  STRATA_ASSIGN(job->dense_optimizer, ReadOptimizer(settings, "dense"));
  return Status::Ok();
}

// Of all tables, as each may have its own rule.
Status CheckStateType(const Settings& settings, const JobConfig& job) {
  const auto has_state = [](const OptimizerSpec& spec) { return HasState(spec.kind); };
  const bool is_used = job.tables.empty() ? has_state(job.sparse_optimizer)
                                          : std::ranges::any_of(job.table_optimizers, has_state);
  if (!settings.IsSet("sparse.state_type") || is_used) return {};
  return Wrong(settings, "sparse.state_type",
               fmt::format("has no effect {}: remove it", WhyStateless(job.sparse_optimizer.kind)));
}

Status ReadEvaluations(const Settings& settings, JobConfig* job) {
  job->eval_every = CountOf(settings, "train.eval_every");
  job->eval_every_steps = CountOf(settings, "train.eval_every_steps");
  job->early_stopping = CountOf(settings, "train.early_stopping");
  job->best_by = settings.Text("train.best_by");
  const bool is_mse = job->loss == LossKind::kMse;
  if (is_mse && !settings.IsSet("train.best_by")) job->best_by = "mse";
  if (is_mse != (job->best_by == "mse")) {
    return Wrong(
        settings, "train.best_by",
        fmt::format("is \"{}\", which a model of model.loss = \"{}\" has not: {}", job->best_by,
                    LossKindName(job->loss), is_mse ? "remove it" : "name another metric"));
  }
  if (is_mse && !job->data.group.empty()) {
    return Wrong(settings, "data.group",
                 "has no effect on model.loss = \"mse\", which has no AUC: remove it");
  }
  for (const auto& [key, count] : {std::pair{"train.eval_every", job->eval_every},
                                   {"train.eval_every_steps", job->eval_every_steps},
                                   {"train.early_stopping", job->early_stopping}}) {
    if (count == 0 || !job->test_files.empty()) continue;
    return Wrong(settings, key,
                 fmt::format("needs data.test, which is empty: name the file to evaluate on, or "
                             "remove {}",
                             key));
  }
  if (job->early_stopping > 0 && job->eval_every == 0 && job->eval_every_steps == 0) {
    return Wrong(settings, "train.early_stopping",
                 "has no effect where the only evaluation is after the last epoch: set "
                 "train.eval_every_steps or train.eval_every, or remove it");
  }
  if (job->best_by == "gauc" && job->data.group.empty()) {
    return Wrong(settings, "train.best_by",
                 "is \"gauc\", which needs data.group: name the column of the groups");
  }
  if (!job->data.group.empty() && job->test_files.empty()) {
    return Wrong(settings, "data.group",
                 "has no effect without data.test, whose rows it divides: name the file, or remove "
                 "data.group");
  }
  if (job->early_stopping == 0 && settings.IsSet("train.best_by")) {
    return Wrong(settings, "train.best_by",
                 "has no effect without train.early_stopping: set that, or remove train.best_by");
  }
  return {};
}

}  // namespace

Result<JobConfig> ParseJob(std::string_view text, const std::string& file,
                           std::span<const std::string> overrides, const std::string& task) {
  const bool is_catboost = AsksForCatBoost(LookIntoJob(text, file, overrides));
  Settings settings(is_catboost ? CatBoostJobTable() : JobSettingsTable());
  STRATA_TRY(LoadSettings(text, file, overrides, &settings));
  JobConfig job;
  job.file = file;
  job.name = settings.Text("job.name");
  if (!IsName(job.name)) {
    return Wrong(settings, "job.name",
                 fmt::format("must be 1 to {} characters of A-Z, a-z, 0-9, '_', '.' and '-'; found "
                             "'{}'",
                             kNameMax, job.name));
  }
  job.seed = static_cast<uint64_t>(settings.Int("job.seed"));
  STRATA_TRY(ReadDataSettings(settings, task, &job));
  STRATA_TRY(CheckStandardInput(settings, job, task));
  job.model_path = JobPath(settings, "output.model", file);
  job.predictions_path = JobPath(settings, "output.predictions", file);
  if (is_catboost && settings.Text("model.kind") != "gbdt") {
    return WithoutTrees(settings, "gbdt.algorithm");
  }
  if (settings.Text("model.kind") == "gbdt") {
    job.data.label_is_number = job.data.label_positive.empty();
    if (is_catboost) {
      STRATA_ASSIGN(job.catboost, ReadCatBoostSettings(settings, job, task));
      return job;
    }
    STRATA_ASSIGN(job.trees, ReadTreeSettings(settings, job, task));
    return job;
  }
  if (task != "train" && task != "evaluate" && task != "predict") {
    return Invalid(fmt::format("--task={}: is for model.kind = \"gbdt\"; the job is of kind \"{}\"",
                               task, settings.Text("model.kind")));
  }
  STRATA_TRY(ReadModel(settings, &job));
  STRATA_TRY(ReadCompute(settings, &job));
  STRATA_TRY(ReadTables(settings, &job));
  STRATA_TRY(CheckStateType(settings, job));
  job.batch_size = CountOf(settings, "train.batch_size");
  job.epochs = CountOf(settings, "train.epochs");
  job.shuffle_rows = CountOf(settings, "train.shuffle_rows");
  job.hint_batches = CountOf(settings, "train.hint_batches");
  STRATA_TRY(ReadEvaluations(settings, &job));
  job.dictionary = settings.Bool("output.dictionary");
  if (job.dictionary && job.model_path.empty()) {
    return Wrong(settings, "output.dictionary",
                 "needs output.model, which is empty: name the folder of the model");
  }
  if (job.dictionary && !HasTexts(job.data)) {
    job.warnings.push_back(
        fmt::format("{}: output.dictionary: no [[feature]] is of kind categorical, so that "
                    "dictionary.csv will hold no texts",
                    settings.Origin("output.dictionary")));
  }
  job.checkpoint = {.folder = JobPath(settings, "checkpoint.folder", file),
                    .every_steps = CountOf(settings, "checkpoint.every_steps"),
                    .keep = CountOf(settings, "checkpoint.keep"),
                    .resume = settings.Bool("checkpoint.resume")};
  ListSettings(settings, &job);
  return job;
}

Result<JobConfig> LoadJob(Disk& disk, const std::string& path,
                          std::span<const std::string> overrides, const std::string& task) {
  Result<std::string> text = ReadTextFile(disk, path, kJobBytesMax);
  if (!text.ok()) return text.status().Prefixed("the job file");
  Result<JobConfig> job = ParseJob(*text, path, overrides, task);
  if (!job.ok()) return WithConfigLook(disk, path, ConfigKind::kJob, job.status());
  STRATA_TRY(FindJobFiles(disk, task, &*job));
  return job;
}

Status WrongPath(const JobConfig& job, std::string_view key, const Status& why) {
  if (why.ok()) return why;
  const auto origin = job.origins.find(key);
  const StatusCode code =
      why.code() == StatusCode::kDiskFull ? StatusCode::kDiskFull : StatusCode::kInvalid;
  return Status(
      code, fmt::format("{}: {}: {}", origin == job.origins.end() ? job.file : origin->second, key,
                        why.message()));
}

Status NoPath(const std::string& file, std::string_view key, std::string_view expected) {
  return Invalid(fmt::format("{}: {} is empty: expected {}: name it there, or give {}=PATH", file,
                             key, expected, key));
}

}  // namespace strata
