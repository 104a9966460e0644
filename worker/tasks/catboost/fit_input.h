// Where parameters of `catboost fit` come from: a file, and over it the words of a command line.
#pragma once

#include <span>
#include <string>

#include "base/file/disk.h"
#include "base/settings/settings.h"
#include "strata/status.h"

namespace strata {

// The parameters of a file, an object of JSON, and of words, key=value each, which override those
// of the file. A value of null says nothing. kInvalid: all that is wrong, one a line, at most ten:
// file or word, key, expected and found. Errors of the disk as they come.
Result<Settings> ReadFitSettings(Disk& disk, const std::string& params_file,
                                 std::span<const std::string> words);

// The same of the section [gbdt] of a job file, and what overrides it.
Result<Settings> ReadFitSettings(std::span<const OpenValue> parameters);

}  // namespace strata
