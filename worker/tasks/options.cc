#include "worker/tasks/options.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/print.h"
#include "cluster/config_file.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/job/config_look.h"
#include "worker/tasks/catboost/job_options.h"
#include "worker/tasks/trees/tree_outputs.h"
#include "worker/tasks/trees/tree_ranks.h"

namespace strata {
namespace {

constexpr Setting kSettings[] = {
    {.key = "job",
     .help = "Path of the job file (job.toml). Required, unless --lightgbm_conf is given.",
     .flag = "job",
     .programs = kProgramWorker,
     .in_file = false},
    {.key = "lightgbm_conf",
     .help = "Path of a LightGBM train.conf: trains boosted trees, or predicts with them, as its "
             "task says. key=value on the command line overrides a key of it. config=FILE says "
             "the same, as LightGBM has it.",
     .flag = "lightgbm_conf",
     .programs = kProgramWorker,
     .in_file = false},
    {.key = "catboost_params",
     .help =
         "Path of CatBoost's parameters, an object of JSON, as catboost fit --params-file takes "
         "it: trains CatBoost's trees. key=value on the command line overrides a key of it.",
     .flag = "catboost_params",
     .programs = kProgramWorker,
     .in_file = false},
    {.key = "task",
     .type = SettingType::kChoice,
     .default_value = "train",
     .help =
         "What to do: train a model, evaluate or predict with the one in output.model; of trees "
         "also refit them to data.train, convert them, or, of a train.conf, write binary files.",
     .choices = "train|evaluate|predict|refit|convert|save_binary",
     .flag = "task",
     .programs = kProgramWorker,
     .in_file = false},
    {.key = "json",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "One JSON object a line on standard output, the result last; all else on stderr. Not "
             "with a model or predictions on standard output.",
     .flag = "json",
     .programs = kProgramWorker,
     .in_file = false},
    {.key = "print_graph",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Only show the layers of the job's model: what they take and give, parameters and "
             "memory, and the sections of a job file that say the same.",
     .flag = "print_graph",
     .programs = kProgramWorker,
     .in_file = false},
    {.key = "threads",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Threads that work on a step: a network on the CPU, distinct keys, rows, gradients. "
             "On a processor with AVX-512 the model does not depend on them. More than 1 pays only "
             "for a worker alone on its host.",
     .min = 1,
     .max = 1024,
     .flag = "threads",
     .programs = kProgramWorker,
     .in_file = false},
};

Status LoadConfigFlag(Disk& disk, const std::map<std::string, std::string>& flags,
                      Settings* settings) {
  const auto config = flags.find("config");
  if (config == flags.end() || config->second.empty()) return {};
  return WithConfigLook(disk, config->second, ConfigKind::kCluster,
                        LoadClusterFile(disk, config->second, "--config", settings));
}

// What trees take from elsewhere; `job` is theirs, if there is one.
Status CheckTreeFlags(const Settings& worker, const JobConfig& job) {
  if (worker.Bool("print_graph")) {
    return Invalid("--print-graph is for models of layers: trees have none");
  }
  if (worker.IsSet("threads")) {
    return Invalid(fmt::format("{} has no effect on trees: set {} in {}", worker.Origin("threads"),
                               job.catboost.has_value() ? "thread_count" : "num_threads",
                               worker.Text("job").empty() ? "the configuration" : "[gbdt]"));
  }
  return {};
}

// What tasks of CatBoost take from elsewhere; `option` is what names them.
Status CheckCatBoostFlags(const Settings& worker, const char* option, bool in_cluster) {
  for (const char* flag : {"job", "lightgbm_conf"}) {
    if (worker.Text(flag).empty()) continue;
    return Invalid(fmt::format("--{} and {} exclude each other: give one", flag, option));
  }
  if (worker.Bool("print_graph")) {
    return Invalid("--print-graph is for models of layers: trees have none");
  }
  if (worker.IsSet("threads")) {
    return Invalid(fmt::format("{} has no effect on a model of CatBoost: set thread_count",
                               worker.Origin("threads")));
  }
  if (!in_cluster) return {};
  return Invalid(
      "a model of CatBoost trains and predicts in one process: remove --config and the other flags "
      "of a cluster");
}

// What the job of CatBoost's trees asks for.
Status AddCatBoostJob(const std::string& task, WorkerOptions* options) {
  if (options->cluster.has_value()) {
    return Invalid(fmt::format(
        "{}: gbdt.algorithm = \"catboost\" trains in one process: remove --config and the other "
        "flags of a cluster; gbdt.algorithm = \"lightgbm\" trains trees with several workers",
        options->job.file));
  }
  if (task == "train") {
    STRATA_ASSIGN(options->fit, FitOptionsOfJob(options->job));
  } else {
    STRATA_ASSIGN(options->apply, ApplyOptionsOfJob(options->job, task));
  }
  return {};
}

Task ParseTask(const std::string& name) {
  for (const Task task : {Task::kEvaluate, Task::kPredict}) {
    if (name == TaskName(task)) return task;
  }
  return Task::kTrain;
}

Status PrintHelp() {
  const std::array<const SettingsTable*, 2> tables = {&WorkerSettingsTable(),
                                                      &ClusterSettingsTable()};
  return WriteStdout(HelpText(
      "strata-worker --job=FILE [--config=FILE] [flags] "
      "[section.key=value ...]\n"
      "       strata-worker --lightgbm-conf=FILE [flags] [key=value ...]\n"
      "       strata-worker config=FILE [flags] [key=value ...]\n"
      "       strata-worker --catboost-params=FILE learn_set=FILE [flags] [key=value ...]\n"
      "       strata-worker --task=predict model_file=FILE input_path=FILE [key=value ...]",
      "Trains, evaluates or applies the model of a job file. With --config, "
      "or with --servers and --rendezvous, it is one worker of a cluster, "
      "whose servers hold the tables; without, everything happens in this "
      "process. section.key=value overrides a key of the job file. "
      "--catboost-params trains CatBoost's trees as its fit does, with "
      "learn_set, test_set, column_description (cd), delimiter, has_header, "
      "model_file, thread_count and the parameters of training as "
      "key=value or in its file. model_file without it names a model of "
      "CatBoost, which predicts as its calc does, with input_path, "
      "column_description (cd), delimiter, has_header, output_path, "
      "prediction_type, thread_count and device; --task=convert writes it to "
      "output_path. docs/catboost.md is the page of both. "
      "docs/configuration.md lists the keys of job files, of a "
      "train.conf and of CatBoost's fit and calc.",
      kProgramWorker, tables));
}

// LightGBM's own way to name the train.conf; what is left are overrides. "": it is not there.
Result<std::string> TakeConf(std::vector<std::string>* words) {
  std::string conf;
  for (auto word = words->begin(); word != words->end();) {
    const size_t equals = word->find('=');
    const std::string_view key = std::string_view(*word).substr(0, equals);
    if (equals == std::string::npos || (key != "config" && key != "config_file")) {
      ++word;
      continue;
    }
    const std::string file = word->substr(equals + 1);
    if (file.empty()) return Invalid(fmt::format("{}: expected {}=FILE", *word, key));
    if (!conf.empty()) {
      return Invalid(fmt::format("config={} and {} exclude each other: give one", conf, *word));
    }
    conf = file;
    word = words->erase(word);
  }
  return conf;
}

// The train.conf; "": a job file is given. What is left of `words` are overrides.
Result<std::string> FindConf(const Settings& worker, std::vector<std::string>* words) {
  const std::string& flag = worker.Text("lightgbm_conf");
  const bool has_job = !worker.Text("job").empty();
  STRATA_ASSIGN(const std::string conf, TakeConf(words));
  if (has_job && !flag.empty()) {
    return Invalid("--job and --lightgbm_conf exclude each other: give one");
  }
  if (has_job && !conf.empty()) {
    return Invalid(fmt::format("--job and config={} exclude each other: give one", conf));
  }
  if (!conf.empty() && !flag.empty()) {
    return Invalid("--lightgbm_conf and config exclude each other: give one");
  }
  if (!has_job && conf.empty() && flag.empty()) {
    return Invalid(
        "--job is missing: expected --job=FILE, the job file, or config=FILE (the same as "
        "--lightgbm-conf=FILE), a train.conf; --help lists all flags");
  }
  return conf.empty() ? flag : conf;
}

Result<TreeParameters> LoadConf(Disk& disk, const std::string& path,
                                std::span<const std::string> overrides) {
  Result<TreeParameters> loaded = LoadLightGbmConf(disk, path, overrides);
  if (loaded.ok()) return loaded;
  return WithConfigLook(disk, path, ConfigKind::kLightGbmConf, loaded.status());
}

// `conf` is the train.conf, if there is one.
std::vector<NamedFile> FilesOf(const Settings& worker, const Settings& cluster,
                               const std::string& conf, const WorkerOptions& options) {
  std::vector<NamedFile> files = {
      {"--job", worker.Text("job")},
      {worker.Text("lightgbm_conf").empty() ? "config" : "--lightgbm-conf", conf},
      {"--catboost-params", worker.Text("catboost_params")},
      {"--config", cluster.Text("config")},
      {"log.file", options.log_file}};
  for (const std::string& path : options.job.train_files) files.push_back({"data.train", path});
  for (const std::string& path : options.job.test_files) files.push_back({"data.test", path});
  return files;
}

Status CheckOutputs(Disk& disk, const WorkerOptions& options) {
  // It is written to before anything else is looked at.
  std::vector<NamedFile> read = options.files;
  if (options.trees.has_value()) read.push_back({"data", options.trees->data.path});
  if (options.calc.has_value()) {
    read.insert(read.end(), options.calc->inputs.begin(), options.calc->inputs.end());
  }
  if (options.apply.has_value()) read.push_back({"output.model", options.apply->model_file});
  if (options.fit.has_value()) {
    read.insert(read.end(), options.fit->inputs.begin(), options.fit->inputs.end());
  }
  for (const NamedFile& file : read) {
    if (options.log_file.empty() || file.name == "log.file" || file.path.empty()) continue;
    if (!disk.Replaces(options.log_file, file.path)) continue;
    return Invalid(
        fmt::format("log.file = {} is a file of {}: name another", options.log_file, file.name));
  }
  if (!options.json || !WritesToStandardOutput(options)) return {};
  return Invalid(
      "--json and a model or predictions on standard output exclude each other: name a file for "
      "these, or leave --json out");
}

}  // namespace

bool WritesToStandardOutput(const WorkerOptions& options) {
  if (options.calc.has_value()) return IsStandardOutput(options.calc->output_path);
  if (options.apply.has_value()) return IsStandardOutput(options.apply->output_path);
  if (options.fit.has_value()) return IsStandardOutput(options.fit->model_file);
  if (options.trees.has_value()) return WritesToStandardOutput(*options.trees);
  return options.task == Task::kPredict && IsStandardOutput(options.job.predictions_path);
}

const char* TaskName(Task task) {
  switch (task) {
    case Task::kTrain:
      return "train";
    case Task::kEvaluate:
      return "evaluate";
    case Task::kPredict:
      return "predict";
  }
  return "unknown";
}

const SettingsTable& WorkerSettingsTable() {
  static constexpr SettingsTable kTable = {
      .title = "strata-worker", .settings = kSettings, .repeated = {}};
  return kTable;
}

Result<std::optional<WorkerOptions>> ParseWorkerOptions(int argc, char** argv, Disk& disk) {
  Settings worker(WorkerSettingsTable());
  Settings cluster(ClusterSettingsTable());
  const FlagTarget targets[] = {
      {&WorkerSettingsTable(), &worker, nullptr},
      {&ClusterSettingsTable(), &cluster,
       [&](const auto& flags) { return LoadConfigFlag(disk, flags, &cluster); }},
  };
  STRATA_ASSIGN(const CommandLine line, ParseCommandLine(argc, argv, kProgramWorker, targets));
  if (line.help) {
    STRATA_TRY(PrintHelp());
    return std::optional<WorkerOptions>();
  }
  if (line.version) {
    STRATA_TRY(PrintStdout("strata-worker {}\n", STRATA_VERSION));
    return std::optional<WorkerOptions>();
  }
  std::vector<std::string> overrides = line.positional;
  WorkerOptions options;
  std::string conf;
  const std::string& catboost_params = worker.Text("catboost_params");
  if (!catboost_params.empty()) {
    STRATA_ASSIGN(options.fit,
                  LoadFitOptions(disk, catboost_params, overrides, worker.Text("task")));
  } else if (NameCatBoostModel(overrides)) {
    STRATA_ASSIGN(options.calc, ParseCalcOptions(overrides, worker.Text("task")));
  } else {
    STRATA_ASSIGN(conf, FindConf(worker, &overrides));
  }
  options.task = ParseTask(worker.Text("task"));
  options.json = worker.Bool("json");
  options.print_graph = worker.Bool("print_graph");
  options.threads = static_cast<int>(worker.Int("threads"));
  STRATA_ASSIGN(ClusterConfig config, MakeClusterConfig(cluster, disk));
  STRATA_ASSIGN(options.log_level, ParseLogLevel(config.log_level));
  options.log_file = config.log_file;
  options.http_host = config.http_host;
  const bool in_cluster =
      cluster.IsSet("config") || !config.machines.machines.empty() || config.rendezvous.has_value();
  options.http_port = in_cluster || cluster.IsSet("http.port") ? config.http_port : -1;
  if (options.calc.has_value() || options.fit.has_value()) {
    STRATA_TRY(CheckCatBoostFlags(
        worker, options.fit.has_value() ? "--catboost_params" : "model_file", in_cluster));
    options.files = FilesOf(worker, cluster, conf, options);
    STRATA_TRY(CheckOutputs(disk, options));
    return std::optional<WorkerOptions>(std::move(options));
  }
  if (in_cluster) options.cluster = config;
  if (!conf.empty()) {
    STRATA_TRY(CheckTreeFlags(worker, options.job));
    if (worker.IsSet("task")) overrides.push_back("task=" + worker.Text("task"));
    STRATA_ASSIGN(options.trees, LoadConf(disk, conf, overrides));
    STRATA_ASSIGN(const bool listed, AddMachines(disk, options.trees->machine, options.trees->task,
                                                 in_cluster, &config));
    STRATA_TRY(CheckRankHasList(config, "machine_list_filename, machines, "));
    if (listed) options.cluster = config;
    options.files = FilesOf(worker, cluster, conf, options);
    STRATA_TRY(CheckOutputs(disk, options));
    return std::optional<WorkerOptions>(std::move(options));
  }
  STRATA_TRY(CheckRankHasList(config));
  Result<JobConfig> job = LoadJob(disk, worker.Text("job"), overrides, worker.Text("task"));
  if (!job.ok()) return WithCatBoostLook(disk, worker.Text("job"), overrides, job.status());
  options.job = *std::move(job);
  options.trees = options.job.trees;
  if (options.job.has_trees()) STRATA_TRY(CheckTreeFlags(worker, options.job));
  if (options.job.catboost.has_value()) STRATA_TRY(AddCatBoostJob(worker.Text("task"), &options));
  options.files = FilesOf(worker, cluster, conf, options);
  STRATA_TRY(CheckOutputs(disk, options));
  return std::optional<WorkerOptions>(std::move(options));
}

}  // namespace strata
