// The identity of a server's data folder: the file `identity` in it. Whose state lies there, and
// how often a process has served it. One header line as in sealed_json.h, of the kind
// "strata-server", then JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata::format {

constexpr std::string_view kServerIdentityName = "identity";
constexpr size_t kServerIdentityBytesMax = size_t{1} << 20;
constexpr size_t kBootNoncesMax = 64;

struct ServerIdentityFile {
  uint64_t cluster = 0;  // as in messages
  uint16_t rank = 0;
  std::vector<uint16_t> lanes_per_server;  // of the whole cluster: which rows are here
  uint64_t lineage = 0;                    // 48 bits, not 0
  uint16_t boot = 0;                       // of the last process that served, from 1
  std::vector<uint16_t> lane_ports;        // where its lanes listened
  // Numbers that boots drew, never 0: of `boot`, of the one before it, and so on. At most
  // kBootNoncesMax; files of older servers have none.
  std::vector<uint32_t> nonces;
  // Each lane has a log since: one that has none was lost. Older files do not say it.
  bool lanes_made = false;

  // As messages carry it: lineage x 2^16 + boot.
  uint64_t incarnation() const { return lineage << 16 | boot; }
  friend bool operator==(const ServerIdentityFile&, const ServerIdentityFile&) = default;
};

std::string EncodeServerIdentity(const ServerIdentityFile& identity);
// `file` is the name for messages. kInvalid: another kind of file, or of a newer version; kCorrupt:
// bytes are missing, added or changed.
Result<ServerIdentityFile> DecodeServerIdentity(std::string_view bytes, const std::string& file);

}  // namespace strata::format
