// Standard input, read like a file. It comes once: what has gone by cannot be read again, but for
// the beginning, which is kept so that one can look at it first.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// Whether a path means standard input: "-".
bool IsStandardInput(std::string_view path);

inline constexpr size_t kInputBytesKept = 4 << 20;

// Descriptor `fd`, which is read as long as the file is, and stays open. ReadAt reads on where the
// last one ended, or within the first kInputBytesKept; it waits for what comes and fills `out`
// unless the input is at its end. While nothing comes, `check` is asked five times a second, and
// ReadAt returns its error. Only one thread at a time, also for ReadAt.
//
// ReadAt: kFailed when it is to read again what is not kept, or for the system's error. The size
// is not known, and nothing can be written: kFailed.
std::unique_ptr<File> OpenStandardInput(std::function<Status()> check, int fd = 0);

}  // namespace strata
