#include "proto/format/server_identity.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "proto/format/sealed_json.h"

namespace strata::format {
namespace {

constexpr Seal kSeal{.kind = "strata-server",
                     .version = 1,
                     .what = "a server's identity",
                     .program = "the strata-server that made the data folder"};

}  // namespace

std::string EncodeServerIdentity(const ServerIdentityFile& identity) {
  nlohmann::json body = {
      {"cluster", identity.cluster},
      {"rank", identity.rank},
      {"lanes", identity.lanes_per_server},
      {"lineage", identity.lineage},
      {"boot", identity.boot},
      {"lane_ports", identity.lane_ports},
      {"lanes_made", identity.lanes_made},
  };
  if (!identity.nonces.empty()) body["nonces"] = identity.nonces;
  return SealText(kSeal, body.dump(2) + "\n");
}

Result<ServerIdentityFile> DecodeServerIdentity(std::string_view bytes, const std::string& file) {
  STRATA_ASSIGN(const std::string_view body, UnsealText(kSeal, bytes, file));
  const nlohmann::json root = ParseJson(body);
  if (root.is_discarded()) return Corrupt(file + ": no JSON behind the header line");
  ServerIdentityFile identity;
  Members members(root, file);
  members.Take("cluster", &identity.cluster);
  members.Take("rank", &identity.rank);
  members.Take("lanes", &identity.lanes_per_server);
  members.Take("lineage", &identity.lineage);
  members.Take("boot", &identity.boot);
  members.Take("lane_ports", &identity.lane_ports);
  if (root.is_object() && root.contains("lanes_made")) {
    members.Take("lanes_made", &identity.lanes_made);
  }
  if (root.is_object() && root.contains("nonces")) members.Take("nonces", &identity.nonces);
  STRATA_TRY(members.status());
  if (identity.nonces.size() > kBootNoncesMax || std::ranges::count(identity.nonces, 0U) != 0) {
    return Corrupt(fmt::format("{}: expected up to {} nonces of boots, none of them 0, found [{}]",
                               file, kBootNoncesMax, fmt::join(identity.nonces, ", ")));
  }
  if (identity.lineage == 0 || identity.lineage >> 48 != 0 || identity.boot == 0) {
    return Corrupt(fmt::format("{}: expected a lineage of 48 bits and a boot, found {} and {}",
                               file, identity.lineage, identity.boot));
  }
  return identity;
}

}  // namespace strata::format
