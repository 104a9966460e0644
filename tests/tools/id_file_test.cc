// Ids of documents in files.
#include "tools/admin/collection/id_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/npy_text.h"

namespace strata::admin {
namespace {

using ::testing::HasSubstr;

class IdFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    WriteWholeFile(folder_.File(name), text);
    return folder_.File(name);
  }

  TempFolder folder_;
};

TEST_F(IdFile, IdsAreReadHoweverTheyAreDivided) {
  const auto read = [&](const std::string& text) {
    return ReadIds(RealDisk(), Write("ids", text));
  };
  EXPECT_EQ(*read("3\n\n18446744073709551615, 0\t3\r\n7"),
            (std::vector<DocumentId>{3, UINT64_MAX, 0, 3, 7}));
  EXPECT_TRUE(read("\n \n")->empty());
  const std::pair<const char*, const char*> cases[] = {
      {"1\n2,x3\n", "ids: line 2: expected an id, a whole number from 0 to 2^64 - 1, found 'x3'"},
      {"-1", "line 1"},
      {"1\n\n1.5", "line 3: expected an id, a whole number from 0 to 2^64 - 1, found '1.5'"},
      {"18446744073709551616", "found '18446744073709551616'"}};
  for (const auto& [text, message] : cases) {
    const auto ids = read(text);
    EXPECT_EQ(ids.status().code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(ids.status().message(), HasSubstr(message));
  }
  EXPECT_THAT(ReadIds(RealDisk(), Write("ids.npz", "PK\x03\x04 and more")).status().message(),
              HasSubstr("ids.npz: expected an array (.npy), found an archive (.npz): save one of"));
  EXPECT_EQ(ReadIds(RealDisk(), folder_.File("missing")).status().code(), StatusCode::kNotFound);
}

TEST_F(IdFile, IdsOfFilesAreEachOnce) {
  const auto ids = ReadIds(
      RealDisk(),
      Write("ids.npy", NpyText(NpyHeader("<u8", "(3,)"), std::vector<uint64_t>{UINT64_MAX, 0, 5})));
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  EXPECT_EQ(*ids, (std::vector<DocumentId>{UINT64_MAX, 0, 5}));
  EXPECT_EQ(*ReadIds(RealDisk(), Write("marked", std::string("\xef\xbb\xbf") + "7\n8\n")),
            (std::vector<DocumentId>{7, 8}));
  EXPECT_TRUE(CheckIdsOnce(*ids, "f").ok());
  const std::vector<DocumentId> twice = {4, 9, 5, 9};
  EXPECT_EQ(
      CheckIdsOnce(twice, "f").message(),
      "f: expected each id once, found 9 for documents 1 and 3, which count from 0: leave one "
      "of them out, or give it another id");
}

}  // namespace
}  // namespace strata::admin
