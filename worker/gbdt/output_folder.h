// Whether what a task writes has a folder to be in.
#pragma once

#include <string>
#include <string_view>

#include "base/disk.h"
#include "base/status.h"

namespace strata {

// Who worked for hours must not learn at the end that there is nowhere to write to. kInvalid: names
// the parameter `key` and its value `path`. An empty path is fine.
Status CheckFolderOf(Disk& disk, std::string_view key, const std::string& path);

}  // namespace strata
