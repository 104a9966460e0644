#include "bench/harness/scratch_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace strata::bench {

Result<ScratchFolder> ScratchFolder::Make() {
  std::string path = "/tmp/strata-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Failed("cannot make a folder below /tmp");
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace strata::bench
