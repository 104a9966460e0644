// The dictionary of a model: dictionary.csv in its folder, with the texts that training has seen
// and their keys (worker/data/feature/text_counts.h). Nothing reads it back.
#pragma once

#include <string>

#include "base/file/disk.h"
#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/data/feature/text_counts.h"

namespace strata {

// Adds the other ranks' counts to rank 0's, one rank after the other, so that no rank ever holds
// more than its own and one other's; ranks but 0 keep theirs. Every rank calls it.
Status JoinTextCounts(Group& group, TextCounts* counts);

// The dictionary's file in the folder of a model.
std::string DictionaryPath(const std::string& folder);

// Writes the dictionary into the folder of a saved model, in one step, and warns if it is
// incomplete or holds texts that are no UTF-8.
Status WriteDictionary(Disk& disk, const std::string& folder, const TextCounts& counts);

// Removes the dictionary of an earlier training from the folder, if there is one.
Status RemoveDictionary(Disk& disk, const std::string& folder);

}  // namespace strata
