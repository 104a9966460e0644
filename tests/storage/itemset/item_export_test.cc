// A collection's documents in a folder: what NumPy reads there, and what is said of a folder that
// is no whole export.
#include "storage/itemset/item_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file/npy_header.h"
#include "storage/itemset/set_files.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<Document> kDocuments = {
    {.id = 7, .tokens = {1, 2, 4'000'000'000}, .attributes = {-5}},
    {.id = UINT64_MAX, .tokens = {}, .attributes = {6}},
    {.id = 0, .tokens = {9}, .attributes = {INT64_MAX}}};

class ItemExportTest : public ::testing::Test {
 protected:
  Status Export(std::span<const Document> documents, std::vector<std::string> attributes) {
    STRATA_ASSIGN(const auto exporter, ItemExporter::Begin(RealDisk(), path_, "c", attributes));
    for (size_t i = 0; i < documents.size(); i += 2) {
      STRATA_TRY(exporter->Add(documents.subspan(i, std::min<size_t>(2, documents.size() - i))));
    }
    STRATA_ASSIGN(manifest_, exporter->Finish(true));
    return {};
  }
  template <typename T>
  std::vector<T> Values(const std::string& name, const char* kind, const char* shape) const {
    const auto file = RealDisk().OpenToRead(path_ + "/" + name);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    const auto header = ReadNpyHeader(**file, name);
    EXPECT_TRUE(header.ok()) << header.status().ToString();
    EXPECT_EQ(header->kind, kind);
    EXPECT_EQ(header->ShapeText(), shape);
    EXPECT_TRUE(header->is_row_major);
    EXPECT_EQ(header->begin % 64, 0U);
    std::vector<T> values((*file)->Size().value() / sizeof(T) - header->begin / sizeof(T));
    EXPECT_TRUE((*file)->ReadAt(header->begin, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }
  std::string Refusal(StatusCode code) const {
    const Status status = CheckItemExport(RealDisk(), path_).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    return status.message();
  }

  TempFolder folder_;
  const std::string path_ = folder_.File("a/b");
  format::ItemExport manifest_;
};

TEST_F(ItemExportTest, IsFourArraysAndAManifest) {
  EXPECT_FALSE(IsItemExport(RealDisk(), path_));
  const Status done = Export(kDocuments, {"price"});
  ASSERT_TRUE(done.ok()) << done.ToString();
  EXPECT_EQ(Values<uint32_t>("tokens.npy", "<u4", "(4,)"),
            (std::vector<uint32_t>{1, 2, 4'000'000'000, 9}));
  EXPECT_EQ(Values<uint64_t>("offsets.npy", "<u8", "(4,)"), (std::vector<uint64_t>{0, 3, 3, 4}));
  EXPECT_EQ(Values<uint64_t>("ids.npy", "<u8", "(3,)"), (std::vector<uint64_t>{7, UINT64_MAX, 0}));
  EXPECT_EQ(Values<int64_t>("attributes.npy", "<i8", "(3, 1)"),
            (std::vector<int64_t>{-5, 6, INT64_MAX}));
  EXPECT_TRUE(IsItemExport(RealDisk(), path_));
  const auto checked = CheckItemExport(RealDisk(), path_);
  ASSERT_TRUE(checked.ok()) << checked.status().ToString();
  EXPECT_EQ(*checked, manifest_);
  EXPECT_EQ(checked->documents, 3U);
  EXPECT_EQ(checked->tokens, 4U);
  EXPECT_TRUE(checked->is_one_moment);
  const Status second = Export(kDocuments, {"price"});
  EXPECT_EQ(second.code(), StatusCode::kRefused) << second.ToString();
  EXPECT_THAT(second.message(), HasSubstr("expected a new or an empty folder, found"));
}

TEST_F(ItemExportTest, ItsSetsAreReadWhereSetsAre) {
  const auto read = [&](const std::string& offsets) -> Result<std::vector<TokenSet>> {
    STRATA_ASSIGN(const auto reader, OpenSets(RealDisk(), path_, offsets));
    std::vector<TokenSet> sets;
    STRATA_TRY(reader->Next(SIZE_MAX, &sets));
    return sets;
  };
  ASSERT_TRUE(Export(kDocuments, {"price"}).ok());
  EXPECT_EQ(*read(""), (std::vector<TokenSet>{{1, 2, 4'000'000'000}, {}, {9}}));
  EXPECT_THAT(read("offsets.npy").status().message(),
              HasSubstr("is an export, which has offsets of its own: leave --offsets out"));
  std::string tokens = ReadWholeFile(path_ + "/tokens.npy");
  tokens.back() = static_cast<char>(tokens.back() ^ 1);
  WriteWholeFile(path_ + "/tokens.npy", tokens);
  EXPECT_EQ(read("").status().code(), StatusCode::kCorrupt);
}

TEST_F(ItemExportTest, WithoutDocumentsOrAttributesItIsOneAllTheSame) {
  ASSERT_TRUE(Export({}, {}).ok());
  EXPECT_TRUE(Values<uint32_t>("tokens.npy", "<u4", "(0,)").empty());
  EXPECT_EQ(Values<uint64_t>("offsets.npy", "<u8", "(1,)"), std::vector<uint64_t>{0});
  EXPECT_FALSE(std::filesystem::exists(path_ + "/attributes.npy"));
  EXPECT_TRUE(CheckItemExport(RealDisk(), path_).ok());
}

TEST_F(ItemExportTest, OneThatHasNotEndedIsNoneAndIsBegunAnew) {
  {
    const auto exporter = ItemExporter::Begin(RealDisk(), path_, "c", {"price"});
    ASSERT_TRUE(exporter.ok() && (*exporter)->Add(kDocuments).ok());
  }
  EXPECT_TRUE(IsItemExport(RealDisk(), path_));
  EXPECT_THAT(Refusal(StatusCode::kInvalid), HasSubstr("an export that has not ended"));
  ASSERT_TRUE(Export(kDocuments, {"price"}).ok());
  EXPECT_TRUE(CheckItemExport(RealDisk(), path_).ok());
}

TEST_F(ItemExportTest, TwoAtOnceIntoOneFolderAreRefused) {
  const auto exporter = ItemExporter::Begin(RealDisk(), path_, "c", {"price"});
  ASSERT_TRUE(exporter.ok() && (*exporter)->Add(kDocuments).ok());
  const Status second = Export(kDocuments, {"price"});
  EXPECT_EQ(second.code(), StatusCode::kRefused);
  EXPECT_THAT(std::string(second.message()), HasSubstr("expected no other export to be written"));
  ASSERT_TRUE((*exporter)->Finish(true).ok());
  EXPECT_TRUE(CheckItemExport(RealDisk(), path_).ok());
}

TEST_F(ItemExportTest, EveryByteThatChangedIsFound) {
  ASSERT_TRUE(Export(kDocuments, {"price"}).ok());
  for (const char* name : {"tokens.npy", "offsets.npy", "ids.npy", "attributes.npy"}) {
    const std::string file = path_ + "/" + name;
    const std::string good = ReadWholeFile(file);
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x21);
      WriteWholeFile(file, bad);
      const auto checked = CheckItemExport(RealDisk(), path_);
      // Blanks that fill the header up say nothing.
      EXPECT_TRUE(!checked.ok() || (at >= 6 && at < 128)) << name << " " << at;
      EXPECT_TRUE(at < 128 || checked.status().code() == StatusCode::kCorrupt) << name << " " << at;
    }
    WriteWholeFile(file, good.substr(0, good.size() - 1));
    EXPECT_THAT(Refusal(StatusCode::kCorrupt), StartsWith(file + ": expected "));
    WriteWholeFile(file, good + "x");
    EXPECT_THAT(Refusal(StatusCode::kCorrupt), StartsWith(file + ": expected "));
    std::filesystem::remove(file);
    EXPECT_THAT(Refusal(StatusCode::kCorrupt), StartsWith(file + ": "));
    WriteWholeFile(file, good);
  }
  EXPECT_TRUE(CheckItemExport(RealDisk(), path_).ok());
}

TEST_F(ItemExportTest, AManifestThatIsNoneSaysWhatIsWrong) {
  ASSERT_TRUE(Export(kDocuments, {"price"}).ok());
  const std::string file = path_ + "/collection.json";
  const auto refusal = [&](const std::string& from, const std::string& to, StatusCode code) {
    const std::string good = ReadWholeFile(file);
    std::string bad = good;
    const size_t at = bad.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) bad.replace(at, from.size(), to);
    WriteWholeFile(file, bad);
    std::string message = Refusal(code);
    WriteWholeFile(file, good);
    return message;
  };
  EXPECT_THAT(refusal("{", "[", StatusCode::kInvalid), HasSubstr("the manifest of an export"));
  EXPECT_THAT(refusal("_export\": 1", "_export\": 2", StatusCode::kInvalid),
              HasSubstr("expected version 1, found 2"));
  EXPECT_THAT(refusal("\"documents\": 3", "\"documents\": -3", StatusCode::kCorrupt),
              HasSubstr("\"documents\" is missing, of the wrong type or out of range"));
  EXPECT_THAT(refusal("\"documents\": 3", "\"documents\": 4", StatusCode::kCorrupt),
              HasSubstr("of an array '<u8' (5,), as collection.json says; found"));
  EXPECT_THAT(refusal("\"ids.npy\"", "\"i.npy\"", StatusCode::kCorrupt),
              HasSubstr("expected ids.npy among its files"));
  EXPECT_THAT(refusal("xxh3_128\": \"", "xxh3_128\": \"g", StatusCode::kCorrupt),
              HasSubstr("expected 32 hexadecimal digits"));
}

}  // namespace
}  // namespace strata
