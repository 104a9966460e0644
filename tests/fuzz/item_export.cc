// The folder of an export in which one file is as the input has it: the first byte says which. The
// manifest fits what lies there, so that chance gets past the checksums. What is whole by the
// manifest is read as collection load reads it: as many documents, or the name of a file.
#include "storage/itemset/item_export.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "storage/itemset/set_files.h"
#include "tests/fuzz/array_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/sim_disk.h"
#include "tools/admin/collection/id_file.h"

namespace strata::fuzz {
namespace {

constexpr std::array<const char*, 4> kArrays = {kExportedTokens, kExportedOffsets, kExportedIds,
                                                kExportedAttributes};
using Contents = std::array<std::string, kArrays.size()>;

std::string PathOf(std::string_view name) { return fmt::format("e/{}", name); }

const Contents& GoodArrays() {
  static const Contents arrays = {ArrayOf<uint32_t>("<u4", {3}, {1, 4'000'000'000, 9}),
                                  ArrayOf<uint64_t>("<u8", {4}, {0, 2, 2, 3}),
                                  ArrayOf<uint64_t>("<u8", {3}, {7, UINT64_MAX, 0}),
                                  ArrayOf<int64_t>("<i8", {3, 1}, {-5, 6, INT64_MAX})};
  return arrays;
}

std::string ManifestOf(Disk& disk, const Contents& arrays) {
  format::ItemExport manifest{.collection = "c",
                              .attributes = {"price"},
                              .documents = 3,
                              .tokens = 3,
                              .is_one_moment = true,
                              .files = {}};
  for (size_t i = 0; i < kArrays.size(); ++i) {
    const auto file = disk.OpenToRead(PathOf(kArrays.at(i)));
    const auto header = ReadNpyHeader(**file, kArrays.at(i));
    const auto bytes = std::as_bytes(std::span(arrays.at(i)));
    format::Digester digester;
    if (header.ok() && header->begin < bytes.size()) digester.Add(bytes.subspan(header->begin));
    manifest.files.push_back(
        {.name = kArrays.at(i), .bytes = bytes.size(), .digest = digester.Get()});
  }
  return format::EncodeItemExport(manifest);
}

Status Load(Disk& disk) {
  STRATA_ASSIGN(const format::ItemExport manifest, CheckItemExport(disk, "e"));
  STRATA_ASSIGN(const auto reader,
                OpenSets(disk, PathOf(kExportedTokens), PathOf(kExportedOffsets)));
  std::vector<TokenSet> sets;
  STRATA_TRY(reader->Next(SIZE_MAX, &sets));
  STRATA_CHECK(sets.size() == manifest.documents);
  STRATA_ASSIGN(const auto ids, admin::ReadIds(disk, PathOf(kExportedIds)));
  STRATA_CHECK(ids.size() == manifest.documents);
  if (manifest.attributes.empty()) return {};
  STRATA_ASSIGN(const auto rows, ReadNumberRows(disk, PathOf(kExportedAttributes)));
  STRATA_CHECK(rows.size() == manifest.documents);
  return {};
}

// `which`: of the arrays, or behind them the manifest.
Status Use(size_t which, std::string_view content) {
  Contents arrays = GoodArrays();
  if (which < arrays.size()) arrays.at(which) = content;
  SimDisk disk;
  STRATA_CHECK(disk.MakeFolder("e").ok());
  for (size_t i = 0; i < arrays.size(); ++i) Put(disk, PathOf(kArrays.at(i)), arrays.at(i));
  Put(disk, PathOf(format::kItemExportName),
      which < arrays.size() ? ManifestOf(disk, arrays) : std::string(content));
  STRATA_CHECK(IsItemExport(disk, "e"));
  return Load(disk);
}

}  // namespace

std::vector<Bytes> Seeds() {
  SimDisk disk;
  STRATA_CHECK(disk.MakeFolder("e").ok());
  for (size_t i = 0; i < kArrays.size(); ++i) {
    Put(disk, PathOf(kArrays.at(i)), GoodArrays().at(i));
  }
  std::vector<std::string> contents(GoodArrays().begin(), GoodArrays().end());
  contents.push_back(ManifestOf(disk, GoodArrays()));
  std::vector<Bytes> seeds;
  for (size_t i = 0; i < contents.size(); ++i) {
    STRATA_CHECK(Use(i, contents[i]).ok());
    Bytes& seed = seeds.emplace_back(Bytes{static_cast<std::byte>(i)});
    const auto bytes = std::as_bytes(std::span(contents[i]));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const strata::Status status =
      strata::fuzz::Use(data[0] % (strata::fuzz::kArrays.size() + 1),
                        std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  STRATA_CHECK_MSG(status.ok() || status.message().find("e/") != std::string::npos,
                   status.message());
  return 0;
}
