// The bytes of every message in every version, pinned: tests/golden/wire_NAME.hex (version 1) and
// wire_v2_NAME.hex hold them as hex with comments.
// A difference is a change of the protocol. STRATA_GOLDEN_WRITE=1 writes the files anew.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "proto/wire/command_table.h"
#include "tests/proto/wire_samples.h"

namespace strata::wire {
namespace {

struct Field {
  const char* name;
  size_t size;
};
// docs/protocol.md's table of the header, written down a second time. Version 1 has reserved bytes
// for the last two fields before the crc.
constexpr Field kFields[] = {
    {"magic", 4},         {"version", 2},       {"command", 2},     {"flags", 4},
    {"status", 2},        {"reserved", 2},      {"request_id", 8},  {"cluster_id", 8},
    {"client_hi", 8},     {"client_lo", 8},     {"incarnation", 8}, {"sequence", 8},
    {"settled_below", 8}, {"step", 8},          {"first_step", 8},  {"cursor", 8},
    {"epoch", 4},         {"table", 4},         {"count", 4},       {"width", 4},
    {"timeout_ms", 4},    {"group", 4},         {"rank", 2},        {"world", 2},
    {"ack", 1},           {"frames", 1},        {"reserved", 2},    {"body_bytes", 4},
    {"cut", 4},           {"body_checksum", 8}, {"credit", 4},      {"name_check or boot_nonce", 4},
    {"trace", 4},         {"crc", 4},
};

std::string Hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<int>(b));
  }
  return text;
}

std::string Dump(const Sample& sample) {
  std::string text = fmt::format("# {}: header, then payload frames, in hex\n", sample.name);
  size_t at = 0;
  for (const Field& field : kFields) {
    text += fmt::format("{}  # {}\n", Hex(sample.message[0].bytes().subspan(at, field.size)),
                        field.name);
    at += field.size;
  }
  for (size_t i = 1; i < sample.message.size(); ++i) {
    const auto bytes = sample.message[i].bytes();
    text += fmt::format("frame  # {} bytes\n", bytes.size());
    for (size_t from = 0; from < bytes.size(); from += 16) {
      text += Hex(bytes.subspan(from, std::min<size_t>(16, bytes.size() - from))) + "\n";
    }
  }
  return text;
}

// Frames of a golden file: hex digits, comments to the end of the line, "frame" starts the next
// one.
Message Parse(std::istream& in) {
  std::vector<std::vector<std::byte>> frames(1);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      if (word == "frame") {
        frames.emplace_back();
      } else {
        frames.back().push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
      }
    }
  }
  Message message;
  for (auto& frame : frames) message.push_back(Frame::Own(std::move(frame)));
  return message;
}

std::filesystem::path PathOf(const std::string& name, uint16_t version) {
  const std::string prefix = version == 1 ? "wire_" : fmt::format("wire_v{}_", version);
  return std::filesystem::path(STRATA_GOLDEN_DIR) / (prefix + name + ".hex");
}

class WireGolden : public ::testing::TestWithParam<uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Version, WireGolden,
                         ::testing::Range<uint16_t>(kVersionMin, kVersion + 1));

TEST_P(WireGolden, EveryMessageHasTheseBytes) {
  for (const Sample& sample : Samples(GetParam())) {
    SCOPED_TRACE(sample.name);
    const std::filesystem::path path = PathOf(sample.name, GetParam());
    if (std::getenv("STRATA_GOLDEN_WRITE") != nullptr && GetParam() == kVersion) {
      std::ofstream(path) << Dump(sample);
    }
    std::ifstream file(path);
    ASSERT_TRUE(file.is_open()) << path;
    Message golden = Parse(file);
    ASSERT_EQ(golden.size(), sample.message.size());
    for (size_t i = 0; i < golden.size(); ++i) {
      EXPECT_EQ(Hex(golden[i].bytes()), Hex(sample.message[i].bytes())) << "frame " << i;
    }
    Result<Received> opened = Open(std::move(golden));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_EQ(opened->header, sample.header);
  }
}

TEST_P(WireGolden, EveryCommandHasARequestAndAReply) {
  std::set<std::pair<Command, bool>> seen;
  for (const Sample& sample : Samples(GetParam())) {
    seen.emplace(sample.header.command, sample.header.is(kFlagReply));
  }
  EXPECT_EQ(seen.size(), 2 * CommandTable().size());
}

}  // namespace
}  // namespace strata::wire
