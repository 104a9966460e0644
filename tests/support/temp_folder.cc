#include "tests/support/temp_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "strata/status.h"

namespace strata {

TempFolder::TempFolder() {
  std::string path = std::filesystem::temp_directory_path().string() + "/strata-test-XXXXXX";
  STRATA_CHECK(mkdtemp(path.data()) != nullptr);
  path_ = path;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ReadWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  STRATA_CHECK_MSG(in.good(), "cannot read " + path);
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

void WriteWholeFile(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.flush();
  STRATA_CHECK_MSG(out.good(), "cannot write " + path);
}

}  // namespace strata
