// Every kind of file that Strata keeps, as an example, and its readers. Each function makes one in
// a simulated disk or a temporary folder, which live as long as the result.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/soak/bits/bit_flips.h"

namespace strata::soak {

FileKind LogSegments();
FileKind ServerIdentities();
FileKind LogBases();
FileKind CheckpointManifests();
FileKind CheckpointParts();
FileKind CheckpointAttachments();
FileKind SavedModels();  // manifest, features, rows and dense part
FileKind ColdFiles();    // emptied when they are opened, so read by who has them open

// All of them by name.
std::vector<std::pair<std::string, std::function<FileKind()>>> AllFileKinds();

}  // namespace strata::soak
