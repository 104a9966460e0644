#include "tests/support/golden.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file/disk.h"

namespace strata {
namespace {

constexpr uint64_t kBytesMax = 1 << 20;

std::string PathOf(const std::string& name) { return STRATA_GOLDEN_DIR "/" + name; }

bool IsHex(const std::string& name) { return name.ends_with(".hex"); }

// 32 bytes a line.
std::string Hex(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += fmt::format("{:02x}{}", static_cast<unsigned char>(bytes[i]),
                        i % 32 == 31 || i + 1 == bytes.size() ? "\n" : " ");
  }
  return text;
}

std::string Unhex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 3) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string ContentOf(const std::string& name) {
  const Result<std::string> content = ReadFile(RealDisk(), PathOf(name), kBytesMax);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  return content.ok() ? *content : "";
}

}  // namespace

std::string Golden(const std::string& name) {
  return IsHex(name) ? Unhex(ContentOf(name)) : ContentOf(name);
}

void ExpectGolden(const std::string& name, std::string_view bytes) {
  const std::string content = IsHex(name) ? Hex(bytes) : std::string(bytes);
  if (std::getenv("STRATA_GOLDEN_WRITE") != nullptr) {
    EXPECT_TRUE(WriteFileAtomically(RealDisk(), PathOf(name), content).ok());
  }
  EXPECT_EQ(ContentOf(name), content) << name;
}

}  // namespace strata
