#include "worker/ctr/dictionary.h"

#include <cstddef>
#include <vector>

#include "base/human_text.h"
#include "base/log.h"
#include "worker/ctr/agree.h"

namespace strata {

std::string DictionaryPath(const std::string& folder) { return folder + "/dictionary.csv"; }

Status JoinTextCounts(Group& group, TextCounts* counts) {
  Status joined;
  for (int rank = 1; rank < group.world(); ++rank) {
    std::vector<std::byte> mine;
    if (rank == group.rank()) mine = counts->Serialize();
    std::vector<std::vector<std::byte>> all;
    STRATA_TRY(group.Allgather(std::span<const std::byte>(mine), &all));
    if (group.rank() == 0 && joined.ok()) {
      joined = counts->AddSerialized(all[static_cast<size_t>(rank)]);
    }
  }
  return AgreeOnStatus(group, joined);
}

Status WriteDictionary(Disk& disk, const std::string& folder, const TextCounts& counts) {
  const std::string path = DictionaryPath(folder);
  if (counts.values_not_kept() > 0) {
    Log(LogLevel::kWarning,
        "{} is incomplete: it holds at most {} texts of {} together; {} of the data have others",
        path, HumanCount(TextCounts::kTextsMax), HumanBytes(TextCounts::kBytesMax),
        Counted(counts.values_not_kept(), "value"));
  }
  if (const uint64_t texts = counts.TextsOfOtherBytes(); texts > 0) {
    Log(LogLevel::kWarning,
        "{} is no UTF-8: {} of the training data are not, and stand in it byte by byte", path,
        Counted(texts, "text"));
  }
  return WriteFileAtomically(disk, path, counts.ToCsv());
}

Status RemoveDictionary(Disk& disk, const std::string& folder) {
  const Status removed = disk.Remove(DictionaryPath(folder));
  return removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
}

}  // namespace strata
