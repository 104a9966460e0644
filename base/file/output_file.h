// Outputs are what a program is asked to write. They are tried before the work, written as a whole
// after it, and kept elsewhere when that fails.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// "-", "/dev/stdout" and its other names: what is written there goes to standard output as it is.
bool IsStandardOutput(std::string_view path);

// Shows that WriteOutput has a place for `path`, so that nobody works for hours in vain: a file
// beside it is made, written and removed. kInvalid: there is no such folder, nothing can be written
// in it, or `path` is a device, a folder, a pipe, a link or a file that may not be replaced.
// kDiskFull: there is no space. The message does not name `path`, which is the caller's to do, with
// the option it came from. An empty path and standard output are fine.
Status TryOutputFile(Disk& disk, const std::string& path);

// A file that a program was asked to read or to write.
struct NamedFile {
  std::string name;  // as messages say where it comes from: "data", "output_model = m.txt"
  std::string path;  // empty and standard output: none
};

// TryOutputFile of each output, after its name. Before, it is shown that no output takes the place
// of an input or of another output, neither in the end nor while it is written. kInvalid else.
Status CheckOutputFiles(Disk& disk, std::span<const NamedFile> outputs,
                        std::span<const NamedFile> inputs);

// Makes the folder and shows that it can be listed and that files can be written in it. Errors as
// those of TryOutputFile.
Status TryOutputFolder(Disk& disk, const std::string& folder);

// The content in the file, as WriteFileAtomically puts it there, or on standard output; else as
// WriteOrKeep.
Status WriteOutput(Disk& disk, const std::string& path, std::string_view content);

// Has `write` write to `path`. When it fails, it is called again with a new name in the working
// folder, and then with one in the folder of temporary files. The error, kFailed or kDiskFull, is
// the first one and says where the output is now. What failed tries leave is removed: a file, or a
// folder with nothing in it. Nothing is kept of standard output whose reader has gone.
Status WriteOrKeep(Disk& disk, const std::string& path,
                   const std::function<Status(const std::string& path)>& write);

}  // namespace strata
