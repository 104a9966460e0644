// The data files that a setting of a job names, one by one or by patterns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// The paths of the files in the order of the names. A name is a path; one that holds "*", "?" or
// "[" and is no file itself is a pattern, as fnmatch(3) has them, in any part of the path. It
// stands for the files that match, in the order of their paths' bytes; "*" and "?" do not match a
// dot at the beginning of a name. A file that no pattern names need not exist.
//
// kInvalid: an empty name, a pattern that matches nothing, or a file that is named twice. kNotFound
// and kFailed: the disk's errors about a pattern's folder.
Result<std::vector<std::string>> FindDataFiles(Disk& disk, std::span<const std::string> names);

// For messages: "a.csv", "a.csv and 2 more files".
std::string FilesText(std::span<const std::string> paths);

}  // namespace strata
