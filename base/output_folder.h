// Whether what somebody works for has a folder to be in.
#pragma once

#include <string>

#include "base/disk.h"
#include "base/status.h"

namespace strata {

// Who worked for hours must not learn at the end that WriteFileAtomically has nowhere to write to.
// kInvalid: there is no folder for `path`, or it is one of devices; the message does not name
// `path`, which is the caller's to do, with the option it came from. An empty path is fine.
Status CheckFolderOf(Disk& disk, const std::string& path);

}  // namespace strata
