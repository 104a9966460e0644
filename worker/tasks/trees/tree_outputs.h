// What a tree task writes: checked before the work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/file/output_file.h"
#include "strata/status.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// Every file that the task writes can be written, and takes the place of no other one and of none
// that it reads: those of the parameters and `files`. The errors are CheckOutputFiles', after the
// parameter that names the file. One process of a group calls it.
Status CheckTreeOutputs(Disk& disk, const TreeParameters& parameters,
                        std::span<const NamedFile> files);

// Whether the task's model or predictions go to standard output.
bool WritesToStandardOutput(const TreeParameters& parameters);

// The copy of the model after so many rounds, of snapshot_freq.
std::string SnapshotPath(const TreeParameters& parameters, size_t rounds);

// FILE.bin of save_binary.
std::string BinaryPath(const std::string& data);

}  // namespace strata
