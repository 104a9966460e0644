// strata-admin key: the key of a text or a number, with and without files that describe its column.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tools/admin/command_line.h"
#include "tools/admin/commands.h"
#include "worker/data/feature/feature_key.h"
#include "worker/data/raw/raw_layout.h"

namespace strata::admin {
namespace {

using testing::HasSubstr;

constexpr const char* kJob = R"([job]
name = "adult"
[data]
columns = ["age", "hours", "city", "y"]
missing = ["?"]
label = "y"
[[feature]]
kind = "numeric"
columns = ["age", "hours"]
[[feature]]
kind = "bucketised"
columns = ["age"]
[[feature]]
columns = ["age", "city"]
)";

class AdminKey : public testing::Test {
 protected:
  AdminKey() {
    WriteWholeFile(folder_.File("job.toml"), kJob);
    WriteWholeFile(folder_.File("features-1.bin"),
                   "{\"format\":\"strata-features\",\"version\":1,\"features\":1}\n"
                   "{\"column\":\"age\",\"kind\":\"bucketised\",\"buckets\":4,"
                   "\"boundaries\":[20.0,40.5,60.0]}\n");
  }

  Status Run(std::vector<std::string> words, std::string* out) {
    words.insert(words.begin(), {"strata-admin", "key"});
    std::vector<const char*> line;
    for (const std::string& word : words) line.push_back(word.c_str());
    const Result<ParsedLine> parsed = ParseAdminLine(static_cast<int>(line.size()), line.data());
    if (!parsed.ok()) return parsed.status();
    return RunCommand(*parsed->request, out);
  }

  nlohmann::json Answer(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    std::string out;
    const Status status = Run(std::move(words), &out);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return nlohmann::json::parse(out, nullptr, false);
  }

  std::string Error(const std::vector<std::string>& words) {
    std::string out;
    const Status status = Run(words, &out);
    EXPECT_FALSE(status.ok());
    return status.message();
  }

  std::string job() const { return "--job=" + folder_.File("job.toml"); }
  std::string features() const { return "--features=" + folder_.File("features-1.bin"); }

  TempFolder folder_;
};

const uint64_t kCity = FeatureSalt("city", FeatureKind::kCategorical);
const uint64_t kAge = FeatureSalt("age", FeatureKind::kBucketised);

TEST_F(AdminKey, IsThatOfTheText) {
  const nlohmann::json rome = Answer({"city", "Rome"});
  EXPECT_EQ(rome["key"], TextKey(kCity, "Rome"));
  EXPECT_EQ(rome["kind"], "categorical");
  EXPECT_EQ(rome["text"], "Rome");
  EXPECT_EQ(Answer({"city", " Rome"})["key"], TextKey(kCity, " Rome"));
  const nlohmann::json missing = Answer({"city", "--missing"});
  EXPECT_EQ(missing["key"], MissingKey(kCity));
  EXPECT_TRUE(missing["text"].is_null());
  std::string table;
  ASSERT_TRUE(Run({"city", "Rome"}, &table).ok());
  EXPECT_THAT(table, HasSubstr(fmt::format("{}\n", TextKey(kCity, "Rome"))));
}

TEST_F(AdminKey, AJobFileSaysWhatIsMissingAndTheTable) {
  const nlohmann::json rome = Answer({"city", " Rome ", job()});
  EXPECT_EQ(rome["key"], TextKey(kCity, "Rome"));
  EXPECT_EQ(rome["table"], "adult.embedding");
  EXPECT_EQ(Answer({"city", "?", job()})["key"], MissingKey(kCity));
}

TEST_F(AdminKey, ATableAndSharedKeysAreThoseOfTheJob) {
  std::string text = kJob;
  text.replace(text.find("\"age\", \"hours\", \"city\""), 22,
               "\"age\", \"hours\", \"city\", \"born\"");
  text += "[[feature]]\ncolumns = [\"born\"]\nkeys_of = \"city\"\n";
  text += "[[table]]\nname = \"places\"\nfeatures = [\"city\", \"born\"]\n";
  WriteWholeFile(folder_.File("job.toml"), text);
  const nlohmann::json born = Answer({"born", "Rome", job()});
  EXPECT_EQ(born["key"], TextKey(kCity, "Rome"));
  EXPECT_EQ(born["table"], "adult.places");
  EXPECT_EQ(Answer({"city", "Rome", job()})["table"], "adult.places");
  EXPECT_EQ(Answer({"age", "30", "--kind=categorical", job()})["table"], "adult.embedding");
}

TEST_F(AdminKey, RawRecordsHaveKeysOfTheirSlots) {
  WriteWholeFile(folder_.File("job.toml"), R"([job]
name = "raw"
[data]
format = "raw"
raw_dense = 2
raw_slots = 3
[[table]]
name = "first"
features = ["slot 0"]
)");
  const nlohmann::json answer = Answer({"slot 1", "7", job()});
  EXPECT_EQ(answer["key"], RawKey(1, 7));
  EXPECT_EQ(answer["table"], "raw.embedding");
  EXPECT_EQ(Answer({"slot 0", "7", job()})["table"], "raw.first");
  EXPECT_THAT(Error({"slot 1", "x", job()}),
              HasSubstr("expected a whole number from 0 to 4294967295"));
  EXPECT_THAT(Error({"slot 1", "--missing", job()}), HasSubstr("expected a whole number"));
}

TEST_F(AdminKey, ANumberHasTheKeyOfItsBucket) {
  const std::pair<const char*, uint64_t> cases[] = {{"19.5", 0}, {"20", 1}, {"40.4", 1}, {"99", 3}};
  for (const auto& [number, bucket] : cases) {
    const nlohmann::json answer = Answer({"age", number, features()});
    EXPECT_EQ(answer["bucket"], bucket) << number;
    EXPECT_EQ(answer["key"], BucketKey(kAge, bucket)) << number;
  }
  EXPECT_EQ(Answer({"age", "--missing", "--kind=bucketised"})["key"], MissingKey(kAge));
}

TEST_F(AdminKey, MistakesAreNamed) {
  EXPECT_THAT(Error({"city"}), HasSubstr("TEXT is missing: give the field's text, or --missing"));
  EXPECT_THAT(Error({"city", "Rome", "--missing"}), HasSubstr("exclude each other"));
  EXPECT_THAT(Error({"age", "3", job()}), HasSubstr("categorical and bucketised: say which"));
  EXPECT_THAT(Error({"hours", "3", job()}), HasSubstr("numeric feature, which has no keys"));
  EXPECT_THAT(Error({"town", "x", job()}), HasSubstr("no categorical or bucketised feature"));
  EXPECT_THAT(Error({"age", "3", "--kind=bucketised", job()}), HasSubstr("add --features=FILE"));
  EXPECT_THAT(Error({"age", "x", features()}), HasSubstr("expected a finite number"));
  EXPECT_THAT(Error({"age", "3", "--features=none"}), HasSubstr("none"));
  EXPECT_THAT(Error({"age", "3", "--features=" + folder_.File("job.toml")}),
              HasSubstr("job.toml: holds no features: expected features-N.bin"));
}

}  // namespace
}  // namespace strata::admin
