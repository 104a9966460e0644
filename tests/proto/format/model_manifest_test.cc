// The manifest must come back as it was written, and every change of its bytes must be seen.
#include "proto/format/model_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/hash.h"

namespace strata::format {
namespace {

using testing::HasSubstr;

std::vector<std::byte> Bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
  return bytes;
}

ModelManifest Example() {
  ModelManifest manifest{
      .writer = "strata 0.1.0",
      .job = "adult \"quoted\" \xc3\xa9",
      .seed = ~uint64_t{0},
      .epochs = 3,
      .samples = 97683,
      .model = "deepfm",
      .embedding_dim = 8,
      .hidden = {64, 32},
      .bottom = {16, 8},
      .cross_layers = 2,
      .cross_rank = 4,
      .combiner = "mean",
      .loss = "mse",
      .layers =
          {{.name = "left", .kind = "slice", .inputs = {"embeddings"}, .width = 8, .begin = 4},
           {.name = "logit",
            .kind = "linear",
            .inputs = {"left"},
            .width = 1,
            .activation = "relu",
            .hidden = true}},
      .tables = {{.name = "users", .slots = 3, .dim = 8, .rows = 512},
                 {.name = "items", .slots = 10, .dim = 4, .combiner = "mean", .rows = 7}},
      .slots = 13,
      .dense_width = 6,
      .dense_parameters = 12345,
      .row_dim = 9,
      .rows = 512,
      .table_seed = 0x8000000000000001,
      .initializer = "uniform",
      .initializer_scale = 0.01F,
      .files = {}};
  manifest.files.push_back(DescribeModelFile("sparse.bin", Bytes(512 * 44)));
  manifest.files.push_back(DescribeModelFile("dense.bin", Bytes(kModelBlockBytes + 1)));
  manifest.files.push_back(DescribeModelFile("features.txt", {}));
  return manifest;
}

TEST(ModelManifest, ComesBackAsItWas) {
  const ModelManifest manifest = Example();
  const auto decoded = DecodeModelManifest(EncodeModelManifest(manifest), "m/manifest");
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(decoded.value(), manifest);
  EXPECT_EQ(EncodeModelManifest(decoded.value()), EncodeModelManifest(manifest));
}

// Older builds read what version 1 says all of, and refuse what they would leave out.
TEST(ModelManifest, TheVersionIsTheOldestThatSaysAll) {
  ModelManifest manifest = Example();
  EXPECT_THAT(EncodeModelManifest(manifest), testing::StartsWith("strata-model 3 "));
  manifest.tables[1].combiner = "sum";
  EXPECT_THAT(EncodeModelManifest(manifest), testing::StartsWith("strata-model 2 "));
  manifest.combiner = "sum";
  EXPECT_THAT(EncodeModelManifest(manifest), testing::StartsWith("strata-model 2 "));
  manifest.loss = "logloss";
  const std::string first = EncodeModelManifest(manifest);
  EXPECT_THAT(first, testing::StartsWith("strata-model 1 "));
  EXPECT_THAT(first,
              testing::AllOf(testing::Not(HasSubstr("combiner")), testing::Not(HasSubstr("loss"))));
}

TEST(ModelManifest, EveryTruncationAndEveryExtraByteIsSeen) {
  const std::string whole = EncodeModelManifest(Example());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto decoded = DecodeModelManifest(std::string_view(whole).substr(0, bytes), "m");
    ASSERT_FALSE(decoded.ok()) << bytes << " bytes";
    ASSERT_THAT(decoded.status().message(), HasSubstr("m: "));
  }
  EXPECT_EQ(DecodeModelManifest(whole + "\n", "m").status().code(), StatusCode::kCorrupt);
}

TEST(ModelManifest, EveryFlippedBitIsSeen) {
  std::string whole = EncodeModelManifest(Example());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    whole[bit / 8] = static_cast<char>(whole[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(DecodeModelManifest(whole, "m").ok()) << "bit " << bit;
    whole[bit / 8] = static_cast<char>(whole[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_TRUE(DecodeModelManifest(whole, "m").ok());
}

TEST(ModelManifest, ANewerVersionSaysBothVersions) {
  std::string whole = EncodeModelManifest(Example());
  whole.replace(std::strlen("strata-model "), 1, "27");
  const auto decoded = DecodeModelManifest(whole, "folder/manifest");
  EXPECT_EQ(decoded.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(decoded.status().message(),
              HasSubstr("folder/manifest: format version 27 is newer than 3"));
}

TEST(ModelManifest, AnOlderVersionThanItsContentIsShown) {
  std::string whole = EncodeModelManifest(Example());
  whole.replace(std::strlen("strata-model "), 1, "2");
  EXPECT_THAT(DecodeModelManifest(whole, "m").status().message(),
              HasSubstr("expected version 3, which says what is in it, found 'strata-model 2 "));
}

// Bodies with a right checksum whose content is wrong: what a program that writes our format badly
// would leave behind.
TEST(ModelManifest, BodiesThatAreSealedButWrong) {
  const std::string good = EncodeModelManifest(Example());
  const std::string body = good.substr(good.find('\n') + 1);
  const auto seal = [](const std::string& text) {
    char digest[17];
    std::snprintf(digest, sizeof(digest), "%016llx",
                  static_cast<unsigned long long>(Hash64(std::string_view(text))));
    return "strata-model 3 " + std::to_string(text.size()) + " " + digest + "\n" + text;
  };
  ASSERT_TRUE(DecodeModelManifest(seal(body), "m").ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = body;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return text;
  };
  const std::string wrong[] = {
      "",
      "{",
      "[]",
      "null",
      "{}",
      with("\"slots\": 13", "\"slots\": -1"),
      with("\"slots\": 13", "\"slots\": 4294967296"),
      with("\"slots\": 13", "\"slots\": 1.5"),
      with("\"slots\": 13", "\"slots\": \"13\""),
      with("\"rows\": 512", "\"rowz\": 512"),
      with("\"model\": \"deepfm\"", "\"model\": 7"),
      with("\"initializer_scale\": ", "\"initializer_scale\": 1e300, \"x\": "),
      with("\"bytes\": 22528", "\"bytes\": 9999999"),
      with("\"files\": [", "\"files\": [3,"),
      with("\"hidden\": [", "\"hidden\": [[],")};
  for (const std::string& text : wrong) {
    EXPECT_EQ(DecodeModelManifest(seal(text), "m").status().code(), StatusCode::kCorrupt) << text;
  }
}

TEST(ModelFile, NamesTheBlockThatChanged) {
  std::vector<std::byte> content = Bytes(2 * kModelBlockBytes + 100);
  const ModelFile file = DescribeModelFile("sparse.bin", content);
  ASSERT_EQ(file.checksums.size(), 3U);
  EXPECT_TRUE(CheckModelFile(file, content, "m/sparse.bin").ok());
  const size_t places[] = {0, kModelBlockBytes - 1, kModelBlockBytes, content.size() - 1};
  const char* blocks[] = {"block 0 ", "block 0 ", "block 1 ", "block 2 (bytes 2097152 to 2097252)"};
  for (size_t i = 0; i < 4; ++i) {
    content[places[i]] ^= std::byte{1};
    const Status status = CheckModelFile(file, content, "m/sparse.bin");
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    EXPECT_THAT(status.message(), HasSubstr(std::string("m/sparse.bin: ") + blocks[i]));
    content[places[i]] ^= std::byte{1};
  }
  content.pop_back();
  EXPECT_THAT(CheckModelFile(file, content, "f").message(),
              HasSubstr("f: expected 2097252 bytes, found 2097251"));
}

}  // namespace
}  // namespace strata::format
