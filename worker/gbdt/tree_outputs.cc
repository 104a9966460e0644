#include "worker/gbdt/tree_outputs.h"

#include <fmt/format.h>

#include <utility>

#include "base/output_file.h"
#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/parameter_place.h"

namespace strata {
namespace {

struct NamedFile {
  const char* key;  // the parameter that names it
  std::string value;
  std::string path;
};

bool WritesModel(const TreeParameters& p) { return p.task == "train" || p.task == "refit"; }

// What the task reads, but for a model that goes on in its own file.
std::vector<NamedFile> InputsOf(const TreeParameters& p) {
  std::vector<NamedFile> inputs;
  const auto add = [&](const char* key, const std::string& path) {
    inputs.push_back({key, path, path});
  };
  add("forcedsplits_filename", p.forcedsplits_filename);
  add("forcedbins_filename", p.forcedbins_filename);
  if (!WritesModel(p)) add("input_model", p.input_model);
  const auto add_data = [&](const char* key, const std::string& path) {
    for (const char* ending : {"", ".weight", ".query", ".init"}) {
      inputs.push_back({key, path, path + ending});
    }
  };
  add_data("data", p.data);
  for (const std::string& path : p.valid) add_data("valid", path);
  return inputs;
}

// The parameter that names what the task is for; null: it writes nothing of that kind.
const char* MainOutput(const TreeParameters& p) {
  if (p.task == "convert") return "convert_model";
  if (p.task == "predict") return "output_result";
  return WritesModel(p) ? "output_model" : nullptr;
}

std::string MainPath(const TreeParameters& p) {
  if (p.task == "convert") return p.convert_model;
  if (p.task == "predict") return p.output_result;
  return WritesModel(p) ? p.output_model : "";
}

// FILE.bin of each data file that has none yet and can be read; of others, reading says more.
void AddBinaries(Disk& disk, const TreeParameters& p, std::vector<NamedFile>* outputs) {
  const auto add = [&](const char* key, const std::string& data) {
    const Result<bool> is_binary = IsDatasetFile(disk, data);
    if (is_binary.ok() && !*is_binary) outputs->push_back({key, data, BinaryPath(data)});
  };
  add("data", p.data);
  for (const std::string& path : p.valid) add("valid", path);
}

std::vector<NamedFile> OutputsOf(Disk& disk, const TreeParameters& p) {
  std::vector<NamedFile> outputs;
  const std::string main = MainPath(p);
  if (const char* key = MainOutput(p); key != nullptr) outputs.push_back({key, main, main});
  const bool trains = p.task == "train";
  if (trains && p.snapshot_freq > 0) {
    const auto last = static_cast<size_t>(p.num_iterations);
    outputs.push_back({"output_model", main, SnapshotPath(p, last)});
  }
  if (trains && !p.report_file.empty()) {
    for (const char* ending : {".json", ".html"}) {
      outputs.push_back({"report_file", p.report_file, p.report_file + ending});
    }
  }
  if (p.task == "save_binary" || (trains && p.save_binary)) AddBinaries(disk, p, &outputs);
  return outputs;
}

// What has no meaning on standard output.
Status CheckStandardOutput(const TreeParameters& p) {
  if (p.task != "train") return {};
  if (p.snapshot_freq > 0 && IsStandardOutput(p.output_model)) {
    return Invalid(fmt::format(
        "{} = {} writes copies of the model beside it, which {} = {} has no "
        "place for: name a file",
        KeyOf(p, "snapshot_freq"), p.snapshot_freq, KeyOf(p, "output_model"), p.output_model));
  }
  if (IsStandardOutput(p.report_file)) {
    return Invalid(fmt::format("{} = {}: expected the name of two files, NAME.json and NAME.html",
                               KeyOf(p, "report_file"), p.report_file));
  }
  return {};
}

}  // namespace

Status CheckTreeOutputs(Disk& disk, const TreeParameters& p) {
  STRATA_TRY(CheckStandardOutput(p));
  // LightGBM trains without writing a model when it has no name.
  if (const char* key = MainOutput(p); key != nullptr && p.task != "train" && MainPath(p).empty()) {
    return Invalid(fmt::format("{} is empty: expected the file to write", KeyOf(p, key)));
  }
  const std::vector<NamedFile> inputs = InputsOf(p);
  for (const NamedFile& output : OutputsOf(disk, p)) {
    const std::string name = fmt::format("{} = {}", KeyOf(p, output.key), output.value);
    STRATA_TRY(TryOutputFile(disk, output.path).Prefixed(name));
    for (const NamedFile& input : inputs) {
      if (!disk.Replaces(output.path, input.path)) continue;
      return Invalid(fmt::format("{} would take the place of {}, a file of {}: name another", name,
                                 input.path, KeyOf(p, input.key)));
    }
  }
  return {};
}

bool WritesToStandardOutput(const TreeParameters& p) { return IsStandardOutput(MainPath(p)); }

std::string SnapshotPath(const TreeParameters& p, size_t rounds) {
  return fmt::format("{}.snapshot_iter_{}", p.output_model, rounds);
}

std::string BinaryPath(const std::string& data) { return data + ".bin"; }

}  // namespace strata
