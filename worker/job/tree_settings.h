// Section [gbdt] of a job file: the table of LightGBM's parameters as rows of settings, and back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// One row a parameter that has no other place in a job file. The rows live as long as the process.
const std::vector<Setting>& TreeSettings();

// LightGBM's other keys as [gbdt] would have them, with what to say of them. They live as long as
// the process.
std::span<const RefusedKey> RefusedTreeKeys();

// The parameters of a job of kind "gbdt", for a task. What is LightGBM's in a train.conf, data,
// columns and outputs, comes from `job`, whose data section has been read. kInvalid: file:line, a
// key that has no effect on trees, or values that do not fit.
Result<TreeParameters> ReadTreeSettings(const Settings& settings, const JobConfig& job,
                                        const std::string& task);

// Refuses what has no effect on trees: other kinds' sections, but for the key `allowed`, and
// transforms and shared keys of features. kInvalid: file:line, the key, what to do.
Status CheckTreeSections(const Settings& settings, std::string_view allowed);

// The one file among a key's, or "". kInvalid: there are several.
Result<std::string> OneTreeFile(const Settings& settings, std::string_view key,
                                const std::vector<std::string>& files);

// A path as a job file means it: relative to the file's folder; on the command line, to the working
// directory.
std::string JobPath(const Settings& settings, std::string_view key, const std::string& file);
// The same of a list of paths.
std::vector<std::string> JobPaths(const Settings& settings, std::string_view key,
                                  const std::string& file);

}  // namespace strata
