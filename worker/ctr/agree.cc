#include "worker/ctr/agree.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace strata {

Status AgreeOnStatus(Group& group, const Status& mine) {
  const auto code = static_cast<uint16_t>(mine.code());
  std::vector<std::byte> bytes(sizeof(code) + mine.message().size());
  std::memcpy(bytes.data(), &code, sizeof(code));
  std::memcpy(bytes.data() + sizeof(code), mine.message().data(), mine.message().size());
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(bytes, &all));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    uint16_t found = 0;
    if (all[rank].size() < sizeof(found)) return Internal("a rank's status has no code");
    std::memcpy(&found, all[rank].data(), sizeof(found));
    if (found == 0) continue;
    if (rank == static_cast<size_t>(group.rank())) return mine;
    const std::string text(reinterpret_cast<const char*>(all[rank].data()) + sizeof(found),
                           all[rank].size() - sizeof(found));
    return Status(static_cast<StatusCode>(found), text).Prefixed("worker " + std::to_string(rank));
  }
  return {};
}

Result<uint64_t> NumberOfRank0(Group& group, uint64_t mine) {
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(std::span(&mine, 1)), &all));
  uint64_t number = 0;
  if (all[0].size() != sizeof(number)) return Internal("rank 0's number has an odd size");
  std::memcpy(&number, all[0].data(), sizeof(number));
  return number;
}

Result<uint64_t> SumOverRanks(Group& group, uint64_t mine) {
  auto sum = static_cast<int64_t>(mine);
  STRATA_TRY(group.Allreduce(std::span(&sum, 1), ReduceOp::kSum));
  return static_cast<uint64_t>(sum);
}

Result<std::string> BytesOfRank0(Group& group, const Result<std::string>& mine) {
  const bool first = group.rank() == 0;
  STRATA_TRY(AgreeOnStatus(group, first ? mine.status() : Status::Ok()));
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(
      group.Allgather(first ? std::as_bytes(std::span(*mine)) : std::span<std::byte>(), &all));
  return std::string(reinterpret_cast<const char*>(all[0].data()), all[0].size());
}

}  // namespace strata
