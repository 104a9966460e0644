// What the disk itself does with large sequential pieces, past the page cache: the limit of
// checkpoints and logs.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "strata/status.h"

namespace strata::bench {

// Writes `bytes` bytes to a new file in pieces of 4 MiB, and syncs it. The time it took; the file
// is removed.
Result<TimeNs> TimeDirectWrite(const std::string& path, uint64_t bytes);

// Reads a file from front to back in pieces of 4 MiB. The time it took.
Result<TimeNs> TimeDirectRead(const std::string& path);

// Nothing of the files in a folder, or below it, is left in the page cache.
Status ForgetCached(const std::string& folder);

// Bytes of the files in a folder, or below it, whose names end like this.
uint64_t BytesOfFiles(const std::string& folder, const std::string& suffix);

}  // namespace strata::bench
