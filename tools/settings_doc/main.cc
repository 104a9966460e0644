// Writes docs/configuration.md to stdout, from the very tables that parse the files and flags.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/print.h"
#include "base/settings/settings.h"
#include "cluster/cluster_config.h"
#include "storage/optimizer_fields.h"
#include "worker/gbdt/lightgbm/parameter_place.h"
#include "worker/gbdt/lightgbm/parameter_table.h"
#include "worker/job/job.h"
#include "worker/job/tree_settings.h"
#include "worker/tasks/catboost/fit_settings.h"
#include "worker/tasks/catboost/refused_parameters.h"
#include "worker/tasks/options.h"

namespace {

constexpr const char* kHead =
    R"(# Configuration

Written by `./dev docs` from the settings tables in the code; a test fails when this page is behind.

- `cluster.toml` is read by strata-server, strata-worker and strata-admin; `job.toml` by
  strata-worker, whose own flags come last.
- Precedence: default, then file, then flag (or `section.key=value` for keys of the job file).
- In the names of flags of strata-server and strata-worker `-` and `_` are the same.
- An unknown key, a value of the wrong type or one out of bounds is an error that names file, line
  and what was expected; so is one of [server] that would have no effect, as `server.admit_from` has
  none without `server.cold`. `strata-admin config check FILE` tells all problems of a cluster.toml.
- Sizes: `64MiB`, `1GiB`, or plain bytes. Durations: `500ms`, `10s`, `2min`.

)";

constexpr const char* kOptimizersHead =
    R"(## Optimizers

Which optimizer uses which constant, and what it is where nothing is said: in a table of
`strata-admin table create`, where it is an option (`--clip-norm` for `clip_norm`), and in the
sections [sparse] and [dense] of job.toml, which say what each does. (x): with `decay_steps` alone.
One that the chosen optimizer does not use is an error.

)";

constexpr const char* kTrainConfHead =
    R"(## LightGBM's train.conf

What `strata-worker --lightgbm-conf=FILE` takes: `key = value` lines and # comments. Defaults and
bounds are those of [gbdt] in job.toml, above.

| key | aliases | in a job file | meaning |
| --- | --- | --- | --- |
)";

constexpr const char* kCalcHead =
    R"(## CatBoost's calc

What `strata-worker --task=predict model_file=FILE input_path=FILE` takes, each as key=value on the
command line: the options of `catboost calc`, with underscores. `--task=convert` takes `model_file`
and `output_path`. [catboost.md](catboost.md) says more.

| key | default | meaning |
| --- | --- | --- |
)";

constexpr const char* kFitHead =
    R"(## CatBoost's fit

What `strata-worker --catboost-params=FILE` takes: the keys of the object of JSON in FILE, which
key=value on the command line overrides. They are the parameters of `catboost fit`, with
underscores. In a job file with `gbdt.algorithm = "catboost"` they are keys of [gbdt], but for those
that say which files and columns there are.
[catboost.md](catboost.md#training) says more.

| key | default | meaning |
| --- | --- | --- |
)";

std::string WithTicks(std::string_view names) {
  std::string text;
  while (!names.empty()) {
    const size_t blank = names.find(' ');
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", names.substr(0, blank));
    names.remove_prefix(blank == std::string_view::npos ? names.size() : blank + 1);
  }
  return text;
}

// A cell of a table.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

std::string TrainConfMarkdown() {
  std::string text = kTrainConfHead;
  for (const strata::ParameterRow& row : strata::ParameterRows()) {
    const auto place = strata::PlaceElsewhere(row.name);
    const std::string key = fmt::format("`gbdt.{}`", row.name);
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, WithTicks(row.aliases),
                        place.has_value() ? std::string(*place) : key, Escaped(row.help));
  }
  text +=
      "\nAccepted without effect, as they change how LightGBM works and not what comes out:\n\n";
  text += "| key | why there is nothing to set |\n| --- | --- |\n";
  for (const strata::IdleParameter& row : strata::ParametersWithoutEffect()) {
    text += fmt::format("| {} | {} |\n", WithTicks(row.names), row.help);
  }
  text += "\nRefused by name, unless they are left at what has no effect:\n\n";
  text += "| key | fine at | what it is |\n| --- | --- | --- |\n";
  for (const strata::UnsupportedParameter& row : strata::UnsupportedParameters()) {
    text += fmt::format("| `{}` | {} | {} |\n", row.name,
                        row.idle.empty() ? "" : fmt::format("`{}`", row.idle), row.help);
  }
  return text + "\n";
}

std::string CatBoostRowsMarkdown(const char* head, const strata::SettingsTable& table) {
  std::string text = head;
  for (const strata::Setting& row : table.settings) {
    const std::string value =
        row.default_value.empty() ? "" : fmt::format("`{}`", row.default_value);
    text += fmt::format("| `{}` | {} | {} |\n", row.key, value, Escaped(row.help));
  }
  return text;
}

std::string FitMarkdown() {
  std::string text = CatBoostRowsMarkdown(kFitHead, strata::FitSettingsTable());
  text += "\nOther names:\n\n| name | key |\n| --- | --- |\n";
  for (const strata::FitAlias& alias : strata::FitAliases()) {
    text += fmt::format("| `{}` | `{}` |\n", alias.name, alias.key);
  }
  text +=
      "\nRefused by name, unless they are left at what changes nothing:\n\n"
      "| key | fine at | why |\n| --- | --- | --- |\n";
  for (const strata::RefusedParameter& row : strata::RefusedParameters()) {
    text += fmt::format("| `{}` | {} | {} |\n", row.key, WithTicks(row.idle), row.why);
  }
  return text + "\n";
}

std::string CalcMarkdown() {
  const strata::SettingsTable& table = strata::CalcSettingsTable();
  std::string text = CatBoostRowsMarkdown(kCalcHead, table);
  text += "\nRefused by name:\n\n| key | why |\n| --- | --- |\n";
  for (const strata::RefusedKey& row : table.refused) {
    text += fmt::format("| `{}` | {} |\n", row.key, row.why);
  }
  return text + "\n";
}

std::string JobDefault(std::string_view section, std::string_view name) {
  const std::string key = fmt::format("{}.{}", section, name);
  const auto& rows = strata::JobSettingsTable().settings;
  return std::string(std::ranges::find(rows, key, &strata::Setting::key)->default_value);
}

std::string OptimizersMarkdown() {
  std::string head = "| constant | `table create` | [sparse] | [dense] |";
  std::string line = "| --- | --- | --- | --- |";
  for (const strata::OptimizerName& optimizer : strata::Optimizers()) {
    head += fmt::format(" {} |", optimizer.name);
    line += " --- |";
  }
  std::string rows;
  for (const strata::OptimizerField& field : strata::OptimizerFields()) {
    rows += fmt::format("| `{}` | {} | {} | {} |", field.name, field.TextIn({}),
                        JobDefault("sparse", field.name), JobDefault("dense", field.name));
    for (const strata::OptimizerName& optimizer : strata::Optimizers()) {
      const bool always = field.is_used({.kind = optimizer.kind});
      rows += always ? " x |" : field.IsFor(optimizer.kind) ? " (x) |" : "  |";
    }
    rows += "\n";
  }
  return fmt::format("{}{}\n{}\n{}\n", kOptimizersHead, head, line, rows);
}

}  // namespace

int main() {
  return strata::ExitCode(strata::PrintStdout(
      "{}{}\n{}\n{}{}{}{}{}", kHead, strata::SettingsMarkdown(strata::ClusterSettingsTable()),
      strata::SettingsMarkdown(strata::JobSettingsTable()), OptimizersMarkdown(),
      TrainConfMarkdown(), FitMarkdown(), CalcMarkdown(),
      strata::SettingsMarkdown(strata::WorkerSettingsTable())));
}
