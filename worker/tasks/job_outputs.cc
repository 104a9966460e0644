#include "worker/tasks/job_outputs.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/output_file.h"
#include "worker/ctr/agree.h"
#include "worker/ctr/dictionary.h"
#include "worker/ctr/model_file.h"

namespace strata {
namespace {

// Files of the model in its folder, after `name`.
std::vector<NamedFile> FilesOfModel(Disk& disk, const std::string& folder,
                                    const std::string& name) {
  std::vector<NamedFile> files;
  for (const std::string& path : ModelFiles(disk, folder)) files.push_back({name, path});
  files.push_back({name, DictionaryPath(folder)});
  return files;
}

Status CheckModelFolder(Disk& disk, const JobConfig& job, std::span<const NamedFile> inputs) {
  const std::string name = fmt::format("output.model = {}", job.model_path);
  STRATA_TRY(TryOutputFolder(disk, job.model_path).Prefixed(name));
  std::vector<NamedFile> outputs = FilesOfModel(disk, job.model_path, name);
  for (NamedFile& output : outputs) output.name += ": " + output.path;
  return CheckOutputFiles(disk, outputs, inputs);
}

Status CheckPredictions(Disk& disk, const JobConfig& job, std::span<const NamedFile> inputs) {
  const NamedFile output = {fmt::format("output.predictions = {}", job.predictions_path),
                            job.predictions_path};
  std::vector<NamedFile> all = FilesOfModel(disk, job.model_path, "output.model");
  all.insert(all.end(), inputs.begin(), inputs.end());
  return CheckOutputFiles(disk, {&output, 1}, all);
}

// The error with the place that set the key in front.
Status AtOrigin(const JobConfig& job, std::string_view key, const Status& why) {
  if (why.ok()) return why;
  const auto origin = job.origins.find(key);
  return why.Prefixed(origin == job.origins.end() ? job.file : origin->second);
}

}  // namespace

Status CheckJobOutputs(const TaskContext& context) {
  const JobConfig& job = context.options.job;
  const std::vector<NamedFile>& inputs = context.options.files;
  Status checked;
  if (context.session.group().rank() == 0) {
    if (context.options.task == Task::kTrain && !job.model_path.empty()) {
      checked = AtOrigin(job, "output.model", CheckModelFolder(context.disk, job, inputs));
    }
    if (context.options.task == Task::kPredict) {
      checked = AtOrigin(job, "output.predictions", CheckPredictions(context.disk, job, inputs));
    }
  }
  return AgreeOnStatus(context.session.group(), checked);
}

}  // namespace strata
