#include "proto/format/log_base.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "proto/format/sealed_json.h"

namespace strata::format {
namespace {

constexpr Seal kSeal{.kind = "strata-log-base",
                     .version = 1,
                     .what = "the base of a log",
                     .program = "the strata-server that wrote it"};

}  // namespace

std::string EncodeLogBase(const LogBase& base) {
  const nlohmann::json body = {{"lineage", base.lineage},
                               {"lane", base.lane},
                               {"checkpoint", base.checkpoint},
                               {"cut_lsn", base.cut_lsn}};
  return SealText(kSeal, body.dump(2) + "\n");
}

Result<LogBase> DecodeLogBase(std::string_view bytes, const std::string& file) {
  STRATA_ASSIGN(const std::string_view body, UnsealText(kSeal, bytes, file));
  const nlohmann::json root = ParseJson(body);
  if (root.is_discarded()) return Corrupt(file + ": no JSON behind the header line");
  LogBase base;
  Members members(root, file);
  members.Take("lineage", &base.lineage);
  members.Take("lane", &base.lane);
  members.Take("checkpoint", &base.checkpoint);
  members.Take("cut_lsn", &base.cut_lsn);
  STRATA_TRY(members.status());
  if (base.checkpoint == 0 || base.cut_lsn == 0) {
    return Corrupt(file + ": checkpoint and cut_lsn must not be 0");
  }
  return base;
}

}  // namespace strata::format
