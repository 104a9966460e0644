// Part of each libFuzzer program: puts the target's seeds into the folder that the corpus is kept
// in, the first argument that is no flag, before libFuzzer reads it.
#include <fmt/format.h>

#include <fstream>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(const int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string_view folder = (*argv)[i];
    if (folder.starts_with('-')) continue;
    const std::vector<strata::fuzz::Bytes> seeds = strata::fuzz::Seeds();
    for (size_t seed = 0; seed < seeds.size(); ++seed) {
      std::ofstream file(fmt::format("{}/seed-{}", folder, seed), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seeds[seed].data()),
                 static_cast<std::streamsize>(seeds[seed].size()));
    }
    break;
  }
  return 0;
}
