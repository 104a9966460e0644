// Whether what somebody works for can be put where it is to be.
#pragma once

#include <string>

#include "base/disk.h"
#include "base/status.h"

namespace strata {

// Who worked for hours must not learn at the end that WriteFileAtomically has nowhere to write to.
// kInvalid: there is no folder for `path`, or it is one of devices, or `path` is a folder, a pipe
// or a symbolic link itself; the message does not name `path`, which is the caller's to do, with
// the option it came from. An empty path is fine.
Status CheckFolderOf(Disk& disk, const std::string& path);

}  // namespace strata
