// The files of collection load and search: text, a folder, arrays of sets, tokens and offsets of a
// CSR pair, ids, attributes. One of them is as the input has it: its first byte says which. What is
// read is written as arrays and read again as the same; what is not is named.
#include "storage/itemset/set_files.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/array_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/sim_disk.h"
#include "tools/admin/collection/id_file.h"

namespace strata::fuzz {
namespace {

constexpr std::array<const char*, 7> kNames = {
    "sets.txt", "folder/set", "rows.npy", "tokens.npy", "offsets.npy", "ids.npy", "numbers.npy"};
constexpr size_t kOffsets = 4;

const std::array<std::string, kNames.size()>& GoodFiles() {
  static const std::array<std::string, kNames.size()> files = {
      "1,2,3\n\n 7 , 4294967295\r\n5",
      "\xef\xbb\xbf"
      "1,2\n",
      ArrayOf<int32_t>("<i4", {2, 3}, {1, 2, 3, 4, -1, -1}),
      ArrayOf<uint16_t>("<u2", {3}, {7, 8, 65'535}),
      ArrayOf<int64_t>("<i8", {3}, {0, 2, 3}),
      ArrayOf<uint64_t>("<u8", {3}, {1, 0, UINT64_MAX}),
      ArrayOf<int8_t>("|i1", {2, 2}, {-1, 2, 3, -4})};
  return files;
}

// Whether there is something; what is wrong must name the file.
template <typename T>
bool IsRead(const Result<T>& read, std::string_view path) {
  if (read.ok()) return true;
  STRATA_CHECK_MSG(read.status().message().find(path) != std::string::npos,
                   read.status().message());
  return false;
}

Result<std::vector<TokenSet>> ReadSets(Disk& disk, const std::string& path,
                                       const std::string& offsets) {
  constexpr size_t kMost = 3;
  STRATA_ASSIGN(const auto reader, OpenSets(disk, path, offsets));
  std::vector<TokenSet> sets;
  for (size_t before = SIZE_MAX; before != sets.size();) {
    before = sets.size();
    STRATA_TRY(reader->Next(kMost, &sets));
    STRATA_CHECK(sets.size() <= before + kMost);
  }
  STRATA_CHECK(reader->done() == reader->total());
  return sets;
}

void UseSets(Disk& disk, const std::vector<TokenSet>& sets) {
  TokenSet tokens;
  std::vector<uint64_t> offsets = {0};
  for (const TokenSet& set : sets) {
    tokens.insert(tokens.end(), set.begin(), set.end());
    offsets.push_back(tokens.size());
  }
  Put(disk, "again.npy", ArrayOf("<u4", {tokens.size()}, tokens));
  Put(disk, "begins.npy", ArrayOf("<u8", {offsets.size()}, offsets));
  const auto again = ReadSets(disk, "again.npy", "begins.npy");
  STRATA_CHECK(again.ok() && *again == sets);
}

void UseIds(Disk& disk, const std::vector<DocumentId>& ids) {
  Put(disk, "again.npy", ArrayOf("<u8", {ids.size()}, ids));
  const auto again = admin::ReadIds(disk, "again.npy");
  STRATA_CHECK(again.ok() && *again == ids);
}

void UseNumbers(Disk& disk, const std::vector<std::vector<int64_t>>& rows) {
  std::vector<int64_t> numbers;
  for (const auto& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  const uint64_t columns = rows.empty() ? 1 : rows[0].size();
  Put(disk, "again.npy", ArrayOf("<i8", {rows.size(), columns}, numbers));
  const auto again = ReadNumberRows(disk, "again.npy");
  STRATA_CHECK(again.ok() && *again == rows);
}

// Returns whether it could be read.
bool Read(size_t which, const std::string& content) {
  SimDisk disk;
  STRATA_CHECK(disk.MakeFolder("folder").ok());
  for (size_t i = 0; i < kNames.size(); ++i) {
    Put(disk, kNames.at(i), i == which ? content : GoodFiles().at(i));
  }
  const std::string path = kNames.at(which);
  if (path == "ids.npy") {
    const auto ids = admin::ReadIds(disk, path);
    if (ids.ok()) UseIds(disk, *ids);
    return IsRead(ids, path);
  }
  if (path == "numbers.npy") {
    const auto rows = ReadNumberRows(disk, path);
    if (rows.ok()) UseNumbers(disk, *rows);
    return IsRead(rows, path);
  }
  const bool is_csr = path == "tokens.npy" || path == "offsets.npy";
  const auto sets = is_csr ? ReadSets(disk, "tokens.npy", "offsets.npy")
                           : ReadSets(disk, path == "folder/set" ? "folder" : path, "");
  if (sets.ok()) UseSets(disk, *sets);
  return IsRead(sets, path == "tokens.npy" ? ".npy" : path);
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  const auto add = [&](size_t which, const std::string& content) {
    STRATA_CHECK_MSG(Read(which, content), kNames.at(which));
    Bytes& seed = seeds.emplace_back(Bytes{static_cast<std::byte>(which)});
    const auto bytes = std::as_bytes(std::span(content));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  };
  for (size_t i = 0; i < kNames.size(); ++i) add(i, GoodFiles().at(i));
  add(kOffsets, ArrayOf<uint8_t>("|u1", {4}, {0, 0, 3, 3}));
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  strata::fuzz::Read(data[0] % strata::fuzz::kNames.size(),
                     std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
