// Which of the files that say what to do a text seems to be: people give one in another's place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

enum class ConfigKind : uint8_t { kJob, kLightGbmConf, kCluster };

// The status `of` reading the file as `expected`. Where it is kInvalid and the file seems to be of
// another kind, kInvalid that says so and how to give that file instead.
Status WithConfigLook(Disk& disk, const std::string& path, ConfigKind expected, const Status& of);

}  // namespace strata
