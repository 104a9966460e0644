// The base of a lane's log: the file `base` beside its segments. The checkpoint that the lane is
// loaded from at start, and the record of its cut, behind which the log goes on. One header line
// as in sealed_json.h, of the kind "strata-log-base", then JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "strata/status.h"

namespace strata::format {

constexpr std::string_view kLogBaseName = "base";
constexpr size_t kLogBaseBytesMax = 4096;

struct LogBase {
  uint64_t lineage = 0;  // of the server's state, and the lane: a file of another one is no base
  uint16_t lane = 0;
  uint32_t checkpoint = 0;
  uint64_t cut_lsn = 0;
  friend bool operator==(const LogBase&, const LogBase&) = default;
};

std::string EncodeLogBase(const LogBase& base);
// `file` is the name for messages. kInvalid: another kind of file, or of a newer version; kCorrupt:
// bytes are missing, added or changed.
Result<LogBase> DecodeLogBase(std::string_view bytes, const std::string& file);

}  // namespace strata::format
