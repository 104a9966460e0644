#include "worker/tasks/trees/tree_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/lightgbm/parameter_place.h"

namespace strata {
namespace {

constexpr std::string_view kSnapshotEnding = ".snapshot_iter_";

bool WritesModel(const TreeParameters& p) {
  return p.task.name == "train" || p.task.name == "refit";
}

// The parameter that names what the task is for; null: it writes nothing of that kind.
const char* MainOutput(const TreeParameters& p) {
  if (p.task.name == "convert") return "convert_model";
  if (p.task.name == "predict") return "output_result";
  return WritesModel(p) ? "output_model" : nullptr;
}

std::string MainPath(const TreeParameters& p) {
  if (p.task.name == "convert") return p.task.convert_model;
  if (p.task.name == "predict") return p.task.output_result;
  return WritesModel(p) ? p.task.output_model : "";
}

// The number of rounds that the name of a copy ends with.
std::optional<size_t> RoundsInName(std::string_view path) {
  const size_t at = path.rfind(kSnapshotEnding);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = path.substr(at + kSnapshotEnding.size());
  size_t rounds = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), rounds);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return rounds;
}

// Whether `path` is a copy of the model that the task writes.
bool IsSnapshot(Disk& disk, const TreeParameters& p, const std::string& path) {
  const std::optional<size_t> rounds = RoundsInName(path);
  return rounds.has_value() && disk.Replaces(SnapshotPath(p, *rounds), path);
}

// Whether the model goes on in its own file, or from a copy, which later ones leave as it is.
bool GoesOn(Disk& disk, const TreeParameters& p) {
  return WritesModel(p) && (disk.Replaces(p.task.output_model, p.task.input_model) ||
                            IsSnapshot(disk, p, p.task.input_model));
}

// What the task reads, but for a model that goes on in its own file.
std::vector<NamedFile> InputsOf(Disk& disk, const TreeParameters& p) {
  std::vector<NamedFile> inputs;
  const auto add = [&](const char* key, const std::string& path) {
    inputs.push_back({KeyOf(p, key), path});
  };
  add("forcedsplits_filename", p.growth.forcedsplits_filename);
  add("forcedbins_filename", p.data.forcedbins_filename);
  add("machine_list_filename", p.machine.machine_list_filename);
  if (!GoesOn(disk, p)) add("input_model", p.task.input_model);
  const auto add_data = [&](const char* key, const std::string& path) {
    add(key, path);
    for (const char* ending : {".weight", ".query", ".init"}) {
      const bool exists = disk.OpenToRead(path + ending).status().code() != StatusCode::kNotFound;
      if (exists) add(key, path + ending);
    }
  };
  add_data("data", p.data.path);
  for (const std::string& path : p.data.valid) add_data("valid", path);
  return inputs;
}

// Each data file of rows that can be read, once; of others, reading says more.
std::vector<std::pair<const char*, std::string>> DataToSave(Disk& disk, const TreeParameters& p) {
  std::vector<std::pair<const char*, std::string>> all;
  const auto add = [&](const char* key, const std::string& data) {
    const Result<bool> is_binary = IsDatasetFile(disk, data);
    const bool is_there = std::ranges::any_of(
        all, [&](const auto& other) { return disk.Replaces(other.second, data); });
    if (is_binary.ok() && !*is_binary && !is_there) all.emplace_back(key, data);
  };
  add("data", p.data.path);
  for (const std::string& path : p.data.valid) add("valid", path);
  return all;
}

std::vector<NamedFile> OutputsOf(Disk& disk, const TreeParameters& p,
                                 std::span<const NamedFile> inputs) {
  std::vector<NamedFile> outputs;
  const auto add = [&](const char* key, const std::string& value, const std::string& path) {
    std::string name = fmt::format("{} = {}", KeyOf(p, key), value);
    if (path != value) name += ": " + path;
    outputs.push_back({std::move(name), path});
  };
  const std::string main = MainPath(p);
  if (const char* key = MainOutput(p); key != nullptr) add(key, main, main);
  const bool trains = p.task.name == "train";
  if (trains && p.task.snapshot_freq > 0) {
    const auto last = static_cast<size_t>(p.boosting.num_iterations);
    add("output_model", main, SnapshotPath(p, last));
    for (const NamedFile& input : inputs) {
      const std::optional<size_t> rounds = RoundsInName(input.path);
      if (rounds != last && IsSnapshot(disk, p, input.path)) {
        add("output_model", main, SnapshotPath(p, *rounds));
      }
    }
  }
  if (trains && !p.task.report_file.empty()) {
    for (const char* ending : {".json", ".html"}) {
      add("report_file", p.task.report_file, p.task.report_file + ending);
    }
  }
  if (p.task.name == "save_binary" || (trains && p.task.save_binary)) {
    for (const auto& [key, data] : DataToSave(disk, p)) add(key, data, BinaryPath(data));
  }
  return outputs;
}

// What has no meaning on standard output.
Status CheckStandardOutput(const TreeParameters& p) {
  if (p.task.name != "train") return {};
  if (p.task.snapshot_freq > 0 && IsStandardOutput(p.task.output_model)) {
    return Invalid(
        fmt::format("{} = {} writes copies of the model beside it, which {} = {} has no "
                    "place for: name a file",
                    KeyOf(p, "snapshot_freq"), p.task.snapshot_freq, KeyOf(p, "output_model"),
                    p.task.output_model));
  }
  if (IsStandardOutput(p.task.report_file)) {
    return Invalid(fmt::format("{} = {}: expected the name of two files, NAME.json and NAME.html",
                               KeyOf(p, "report_file"), p.task.report_file));
  }
  return {};
}

}  // namespace

Status CheckTreeOutputs(Disk& disk, const TreeParameters& p, std::span<const NamedFile> files) {
  STRATA_TRY(CheckStandardOutput(p));
  // LightGBM trains without writing a model when it has no name.
  if (const char* key = MainOutput(p);
      key != nullptr && p.task.name != "train" && MainPath(p).empty()) {
    return Invalid(fmt::format("{} is empty: expected the file to write", KeyOf(p, key)));
  }
  std::vector<NamedFile> inputs = InputsOf(disk, p);
  inputs.insert(inputs.end(), files.begin(), files.end());
  return CheckOutputFiles(disk, OutputsOf(disk, p, inputs), inputs);
}

bool WritesToStandardOutput(const TreeParameters& p) { return IsStandardOutput(MainPath(p)); }

std::string SnapshotPath(const TreeParameters& p, size_t rounds) {
  return fmt::format("{}{}{}", p.task.output_model, kSnapshotEnding, rounds);
}

std::string BinaryPath(const std::string& data) { return data + ".bin"; }

}  // namespace strata
