#include "base/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Setting kColumnRows[] = {
    {.key = "name", .help = "The column."},
    {.key = "type",
     .type = SettingType::kChoice,
     .default_value = "numeric",
     .help = "How.",
     .choices = "numeric|categorical"},
    {.key = "bins", .type = SettingType::kIntList, .help = "Edges.", .min = 0},
    {.key = "scale", .type = SettingType::kFloat, .help = "Optional.", .min = 0},
};
constexpr RefusedKey kColumnRefused[] = {{"width", "is a matter of bins: remove it"}};
constexpr RepeatedSection kRepeated[] = {
    {"column", "A column of the data.", kColumnRows, kColumnRefused}};
constexpr Setting kRows[] = {
    {.key = "name", .default_value = "strata", .help = "The name of it all."},
    {.key = "server.lanes",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Threads that own rows.",
     .min = 1,
     .max = 64,
     .flag = "lanes",
     .programs = 1},
    {.key = "server.insecure",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Allow to bind beyond loopback.",
     .flag = "insecure",
     .programs = 1},
    {.key = "server.queue_bytes_max",
     .type = SettingType::kBytes,
     .default_value = "64MiB",
     .help = "Budget.",
     .min = 1024},
    {.key = "server.limits.rate",
     .type = SettingType::kFloat,
     .default_value = "0.5",
     .help = "A rate.",
     .min = 0,
     .max = 1},
    {.key = "timeout", .type = SettingType::kDuration, .default_value = "30s", .help = "Wait."},
    {.key = "level",
     .type = SettingType::kChoice,
     .default_value = "info",
     .help = "Level.",
     .choices = "info|warning|off"},
    {.key = "files",
     .type = SettingType::kTextList,
     .default_value = "[\"a\", \"b\"]",
     .help = "Files."},
    {.key = "data", .type = SettingType::kTextOrList, .help = "Data."},
    {.key = "rank",
     .type = SettingType::kInt,
     .default_value = "-1",
     .help = "Rank.",
     .flag = "rank",
     .programs = 1,
     .in_file = false},
};
constexpr SettingsTable kTable{"cluster.toml", kRows, kRepeated};

// The message of loading `text` into fresh settings; "OK" when it loads.
std::string LoadMessage(std::string_view text) {
  Settings settings(kTable);
  const Status status = settings.LoadToml(text, "cluster.toml");
  if (status.ok()) return "OK";
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  return status.message();
}

TEST(SettingsTest, DefaultsComeFromTheTable) {
  const Settings settings(kTable);
  EXPECT_EQ(settings.Text("name"), "strata");
  EXPECT_EQ(settings.Int("server.lanes"), 1);
  EXPECT_FALSE(settings.Bool("server.insecure"));
  EXPECT_EQ(settings.Bytes("server.queue_bytes_max"), 64ULL << 20);
  EXPECT_EQ(settings.Float("server.limits.rate"), 0.5);
  EXPECT_EQ(settings.Duration("timeout"), 30 * kSecond);
  EXPECT_THAT(settings.TextList("files"), ElementsAre("a", "b"));
  EXPECT_TRUE(settings.Repeated("column").empty());
  EXPECT_FALSE(settings.IsSet("name"));
  EXPECT_EQ(settings.Origin("name"), "default");
}

TEST(SettingsTest, FileOverridesDefaultsWithOrigins) {
  Settings settings(kTable);
  const Status status = settings.LoadToml(
      "name = \"prod\"\n"
      "timeout = \"1500ms\"\n"
      "files = []\n"
      "[server]\n"
      "lanes = 4\n"
      "insecure = true\n"
      "queue_bytes_max = 4096\n"
      "limits.rate = 1\n",
      "a/cluster.toml");
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(settings.Text("name"), "prod");
  EXPECT_EQ(settings.Duration("timeout"), 1500 * kMillisecond);
  EXPECT_TRUE(settings.TextList("files").empty());
  EXPECT_EQ(settings.Int("server.lanes"), 4);
  EXPECT_TRUE(settings.Bool("server.insecure"));
  EXPECT_EQ(settings.Bytes("server.queue_bytes_max"), 4096u);
  EXPECT_EQ(settings.Float("server.limits.rate"), 1.0);
  EXPECT_EQ(settings.Origin("server.lanes"), "a/cluster.toml:5:1");
  EXPECT_TRUE(settings.IsSet("server.lanes"));
  EXPECT_FALSE(settings.IsSet("level"));
}

TEST(SettingsTest, RepeatedSectionsKeepOrderAndPlace) {
  Settings settings(kTable);
  const Status status = settings.LoadToml(
      "[[column]]\n"
      "name = \"age\"\n"
      "bins = [1, 2, 30]\n"
      "[[column]]\n"
      "name = \"city\"\n"
      "type = \"categorical\"\n",
      "job.toml");
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::vector<Settings>& columns = settings.Repeated("column");
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].Text("name"), "age");
  EXPECT_THAT(columns[0].IntList("bins"), ElementsAre(1, 2, 30));
  EXPECT_EQ(columns[0].Text("type"), "numeric");
  EXPECT_EQ(columns[1].Text("type"), "categorical");
  EXPECT_EQ(columns[1].Where(), "job.toml:4:1");
  EXPECT_EQ(columns[1].Origin("type"), "job.toml:6:1");
}

TEST(SettingsTest, AnElementMayHaveKeysWithoutADefaultAndRefuseOthers) {
  Settings settings(kTable);
  ASSERT_TRUE(settings.LoadToml("[[column]]\n[[column]]\nscale = 0.5\n", "job.toml").ok());
  const std::vector<Settings>& columns = settings.Repeated("column");
  EXPECT_FALSE(columns[0].IsSet("scale"));
  EXPECT_EQ(columns[1].Float("scale"), 0.5);
  EXPECT_TRUE(IsOptional(kColumnRows[std::size(kColumnRows) - 1]));
  EXPECT_FALSE(IsOptional(kColumnRows[0]));
  EXPECT_THAT(settings.LoadToml("[[column]]\nscale = -1\n", "job.toml").ToString(),
              HasSubstr("job.toml:2:1: column.scale must be a number of at least 0"));
  EXPECT_THAT(settings.LoadToml("[[column]]\nwidth = 1\n", "job.toml").ToString(),
              HasSubstr("job.toml:2:1: width is a matter of bins: remove it"));
}

TEST(SettingsTest, UnknownNamesAreErrorsWithTheNearest) {
  EXPECT_EQ(LoadMessage("\n[server]\n    lnaes = 3\n"),
            "cluster.toml:3:5: unknown key 'server.lnaes'; did you mean 'server.lanes'?");
  EXPECT_EQ(LoadMessage("[servr]\nlanes = 3\n"),
            "cluster.toml:1:2: unknown section 'servr'; did you mean 'server'?");
  EXPECT_EQ(LoadMessage("lanes = 3\n"),
            "cluster.toml:1:1: unknown key 'lanes'; did you mean 'server.lanes'?");
  EXPECT_EQ(LoadMessage("qqqqqq = 3\n"), "cluster.toml:1:1: unknown key 'qqqqqq'");
  EXPECT_EQ(LoadMessage("rank = 3\n"), "cluster.toml:1:1: unknown key 'rank'");
  EXPECT_EQ(LoadMessage("[[column]]\nname = \"x\"\ntpye = \"numeric\"\n"),
            "cluster.toml:3:1: unknown key 'column.tpye'; did you mean 'column.type'?");
  EXPECT_EQ(LoadMessage("[[colunm]]\n"),
            "cluster.toml:1:3: unknown key 'colunm'; did you mean 'column'?");
}

TEST(SettingsTest, WrongTypesAndBoundsAreErrors) {
  EXPECT_EQ(
      LoadMessage("[server]\nlanes = \"many\"\n"),
      "cluster.toml:2:1: server.lanes must be an integer from 1 to 64; found the text 'many'");
  EXPECT_EQ(LoadMessage("[server]\nlanes = 65\n"),
            "cluster.toml:2:1: server.lanes must be an integer from 1 to 64; found 65");
  EXPECT_EQ(LoadMessage("[server]\nlanes = 2.0\n"),
            "cluster.toml:2:1: server.lanes must be an integer from 1 to 64; found 2");
  EXPECT_THAT(LoadMessage("[server]\nqueue_bytes_max = \"1kB\"\n"),
              HasSubstr("server.queue_bytes_max must be a size (such as 4096, 64MiB, 1.5GiB) of at "
                        "least 1KiB; found '1kB'"));
  EXPECT_THAT(LoadMessage("[server]\nqueue_bytes_max = 1023\n"), HasSubstr("found '1023'"));
  EXPECT_EQ(LoadMessage("[server]\nqueue_bytes_max = \"1.0KiB\"\n"), "OK");
  EXPECT_THAT(LoadMessage("[server]\nqueue_bytes_max = \"0.9999KiB\"\n"),
              HasSubstr("of at least 1KiB; found '0.9999KiB'"));
  EXPECT_THAT(LoadMessage("[server]\nqueue_bytes_max = 1.5\n"), HasSubstr("must be a size"));
  EXPECT_THAT(LoadMessage("[server]\nqueue_bytes_max = -1\n"), HasSubstr("found '-1'"));
  EXPECT_THAT(LoadMessage("timeout = 5\n"), HasSubstr("timeout must be a duration"));
  EXPECT_THAT(LoadMessage("level = \"inof\"\n"), HasSubstr("one of info, warning, off"));
  EXPECT_THAT(LoadMessage("[server]\nlimits.rate = nan\n"), HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(LoadMessage("files = [\"a\", 1]\n"), HasSubstr("must be a list of texts"));
  EXPECT_THAT(LoadMessage("[[column]]\nbins = [1, -1]\n"), HasSubstr("column.bins must be"));
  EXPECT_THAT(LoadMessage("server = 3\n"), HasSubstr("'server' is a section"));
  EXPECT_THAT(LoadMessage("[column]\nname = \"x\"\n"), HasSubstr("write [[column]]"));
  EXPECT_THAT(LoadMessage("name = 1979-05-27\n"), HasSubstr("found a date or time"));
}

TEST(SettingsTest, SyntaxErrorsNameLineAndColumn) {
  EXPECT_THAT(LoadMessage("name = \"x\"\n[server\n"), HasSubstr("cluster.toml:2:8: "));
  EXPECT_THAT(LoadMessage("name = \"x\"\nname = \"y\"\n"), HasSubstr("cluster.toml:2:8: "));
  EXPECT_THAT(LoadMessage(std::string_view("name = \"\0\"", 10)), HasSubstr("cluster.toml:1:9: "));
  EXPECT_THAT(LoadMessage("name = \"\xff\xfe\"\n"), HasSubstr("cluster.toml:1:8: "));
  EXPECT_NE(LoadMessage(std::string(100000, '[')), "OK");
}

TEST(SettingsTest, AllErrorsOfAFileAtOnceAtMostTen) {
  EXPECT_EQ(LoadMessage("zzzz = 1\nyyyy = 2\n[server]\nlanes = 0\n"),
            "cluster.toml:1:1: unknown key 'zzzz'\n"
            "cluster.toml:2:1: unknown key 'yyyy'\n"
            "cluster.toml:4:1: server.lanes must be an integer from 1 to 64; found 0");
  std::string many;
  for (int i = 0; i < 13; ++i) many += "zzzzzzzz" + std::to_string(i) + " = 1\n";
  EXPECT_THAT(LoadMessage(many), HasSubstr("cluster.toml: 3 more errors"));
}

TEST(SettingsTest, AFileWithErrorsChangesNothing) {
  Settings settings(kTable);
  EXPECT_FALSE(settings.LoadToml("name = \"other\"\n[server]\nlanes = 0\n", "f").ok());
  EXPECT_EQ(settings.Text("name"), "strata");
}

TEST(SettingsTest, TheGoodKeysOfAFileWithErrorsCanBeKept) {
  Settings settings(kTable);
  EXPECT_EQ(settings.LoadToml("name = \"other\"\n[server]\nlanes = 0\n", "f", true).code(),
            StatusCode::kInvalid);
  EXPECT_EQ(settings.Text("name"), "other");
  EXPECT_EQ(settings.Origin("name"), "f:1:1");
  EXPECT_EQ(settings.Int("server.lanes"), 1);
  EXPECT_FALSE(settings.LoadToml("name = \"third\"\n[", "f", true).ok());
  EXPECT_EQ(settings.Text("name"), "other") << "of what is no TOML nothing is known";
}

TEST(SettingsTest, SetReadsTextByType) {
  Settings settings(kTable);
  ASSERT_TRUE(settings.Set("server.lanes", "7", "--lanes").ok());
  ASSERT_TRUE(settings.Set("files", "x,y,", "--files").ok());
  EXPECT_EQ(settings.Int("server.lanes"), 7);
  EXPECT_EQ(settings.Origin("server.lanes"), "--lanes");
  EXPECT_THAT(settings.TextList("files"), ElementsAre("x", "y", ""));
  ASSERT_TRUE(settings.Set("files", "", "--files").ok());
  EXPECT_TRUE(settings.TextList("files").empty());
  for (const char* bad : {"", " 7", "7 ", "0x7", "7.0", "99999999999999999999", "+7"}) {
    const Status status = settings.Set("server.lanes", bad, "--lanes");
    EXPECT_THAT(status.message(), HasSubstr("--lanes: server.lanes must be an integer")) << bad;
  }
  EXPECT_EQ(settings.Int("server.lanes"), 7);
  EXPECT_EQ(settings.Set("server.lanse", "7", "argument 2").message(),
            "argument 2: unknown key 'server.lanse'; did you mean 'server.lanes'?");
}

TEST(SettingsTest, ATextMayStandForAListOfOne) {
  const std::pair<const char*, std::vector<std::string>> good[] = {
      {"data = \"a,b\"", {"a,b"}},
      {"data = [\"a\", \"b\"]", {"a", "b"}},
      {"data = \"\"", {}},
      {"data = []", {}},
      {"data = [\"\"]", {""}}};
  for (const auto& [text, list] : good) {
    Settings settings(kTable);
    ASSERT_TRUE(settings.LoadToml(text, "cluster.toml").ok()) << text;
    EXPECT_EQ(settings.TextList("data"), list) << text;
    EXPECT_TRUE(settings.IsSet("data"));
  }
  for (const char* bad : {"data = 1", "data = [1]", "data = [\"a\", 2]", "data = true"}) {
    EXPECT_THAT(LoadMessage(bad), HasSubstr("data must be a text or a list of texts; found"));
  }
  Settings settings(kTable);
  EXPECT_TRUE(settings.TextList("data").empty());
  ASSERT_TRUE(settings.Set("data", "a,b", "--data").ok());
  EXPECT_THAT(settings.TextList("data"), ElementsAre("a", "b"));
  ASSERT_TRUE(settings.Set("data", "", "--data").ok());
  EXPECT_TRUE(settings.TextList("data").empty());
}

// A text may begin with a bracket and be no list, as patterns of files do.
TEST(SettingsTest, OnlyBracketsAroundAllAreThoseOfAList) {
  const std::pair<const char*, std::vector<std::string>> good[] = {
      {"[a,b]", {"a", "b"}},
      {"[ab]", {"ab"}},
      {"[]", {}},
      {R"(["[ab]_1", "x"])", {"[ab]_1", "x"}},
      {R"([ "a]", "b"])", {"a]", "b"}},
      {"[ab]_1", {"[ab]_1"}},
      {"[ab]_[12]", {"[ab]_[12]"}},
      {"[a]_1,[b]_[2]", {"[a]_1", "[b]_[2]"}},
      {"[[a]_1,[b]_2]", {"[a]_1", "[b]_2"}},
      {"./[ab]", {"./[ab]"}}};
  for (const char* key : {"files", "data"}) {
    for (const auto& [text, list] : good) {
      Settings settings(kTable);
      ASSERT_TRUE(settings.Set(key, text, "command line").ok()) << text;
      EXPECT_EQ(settings.TextList(key), list) << text;
    }
    for (const char* bad : {"[a,b", R"(["a")", R"(["a]_1)"}) {
      Settings settings(kTable);
      EXPECT_THAT(settings.Set(key, bad, "command line").message(), HasSubstr("must be a ")) << bad;
    }
  }
}

TEST(SettingsTest, CopiesAreIndependent) {
  Settings a(kTable);
  Settings b = a;
  ASSERT_TRUE(b.Set("name", "b", "test").ok());
  EXPECT_EQ(a.Text("name"), "strata");
  a = b;
  EXPECT_EQ(a.Text("name"), "b");
}

TEST(SettingsTest, BytesAndDurations) {
  const std::pair<const char*, uint64_t> sizes[] = {
      {"0", 0},
      {"17", 17},
      {"17B", 17},
      {"3KiB", 3 << 10},
      {"64 MiB", 64 << 20},
      {"2GiB", 2ULL << 30},
      {"1TiB", 1ULL << 40},
      {"1.5KiB", 1536},
      {"39.9GiB", 42842298777},  // and .6 of a byte
      {"0.001 KiB", 1},
      {"0.0009KiB", 0},
      {"2.000GiB", 2ULL << 30},
      {"0.999999999999999999TiB", (1ULL << 40) - 1},
      {"16777215.5TiB", UINT64_MAX - (1ULL << 39) + 1},
      {"16777215.999999999999999999TiB", UINT64_MAX}};
  for (const auto& [text, value] : sizes) {
    Result<uint64_t> bytes = ParseBytes(text);
    ASSERT_TRUE(bytes.ok()) << text;
    EXPECT_EQ(*bytes, value) << text;
  }
  const std::pair<const char*, TimeNs> durations[] = {{"0", 0},
                                                      {"5ns", 5},
                                                      {"7us", 7000},
                                                      {"500ms", 500 * kMillisecond},
                                                      {"10s", 10 * kSecond},
                                                      {"2min", 120 * kSecond},
                                                      {"1h", 3600 * kSecond}};
  for (const auto& [text, value] : durations) {
    Result<TimeNs> duration = ParseDuration(text);
    ASSERT_TRUE(duration.ok()) << text;
    EXPECT_EQ(*duration, value) << text;
  }
  for (const char* bad : {"",
                          "MiB",
                          "-1",
                          "64MB",
                          "64mib",
                          "1e3",
                          "20000000TiB",
                          "1.5",
                          "1.5B",
                          ".5GiB",
                          "1.GiB",
                          "1..5GiB",
                          "1.5.5GiB",
                          "1,5GiB",
                          "-1.5GiB",
                          "1.-5GiB",
                          "1.5e3KiB",
                          "1. 5GiB",
                          "1.5GB",
                          "16777216.0TiB",
                          "17179869184.5GiB",
                          "99999999999999999999.5GiB",
                          "0.9999999999999999999GiB"}) {
    const Result<uint64_t> bytes = ParseBytes(bad);
    ASSERT_FALSE(bytes.ok()) << bad;
    EXPECT_THAT(bytes.status().message(), HasSubstr("1.5GiB")) << bad;
    EXPECT_THAT(bytes.status().message(), HasSubstr(std::string("found '") + bad + "'"));
  }
  for (const char* bad : {"", "s", "5", "-1s", "1.5s", "3d", "3000000h", "1 s s"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(SettingsTest, NearestNameKeepsItsDistance) {
  constexpr std::string_view kNames[] = {"lanes", "rank", "config", "insecure"};
  EXPECT_EQ(NearestName("lane", kNames), "lanes");
  EXPECT_EQ(NearestName("lnaes", kNames), "lanes");
  EXPECT_EQ(NearestName("cofnig", kNames), "config");
  EXPECT_EQ(NearestName("insceure", kNames), "insecure");
  EXPECT_EQ(NearestName("port", kNames), "");
  EXPECT_EQ(NearestName("--foo", std::vector<std::string_view>{"--form"}), "");
  EXPECT_EQ(NearestName("", kNames), "");
  EXPECT_EQ(NearestName("y", std::vector<std::string_view>{"a", "0"}), "");
  EXPECT_EQ(NearestName(std::string(1000, 'x'), kNames), "");
  EXPECT_EQ(NearestHint("lnaes", kNames), "; did you mean 'lanes'?");
  EXPECT_EQ(NearestHint("port", kNames), "");
}

TEST(SettingsTest, AnOpenSectionKeepsWhatHasNoRow) {
  constexpr Setting kOpenRows[] = {{.key = "trees.kind", .default_value = "a"},
                                   {.key = "data.path"}};
  const SettingsTable table = {.title = "t", .settings = kOpenRows, .open_section = "trees"};
  Settings settings(table);
  const char* const text =
      "[trees]\nkind = \"b\"\ndepth = 4\nrate = 0.1\nlist = [1, \"x\\\"y\"]\n"
      "[trees.sub]\nno = 2.5\n[data]\npath = \"p\"\n";
  ASSERT_TRUE(settings.LoadToml(text, "t.toml").ok());
  ASSERT_TRUE(settings.Set("trees.depth", "a \"7\"", "command line").ok());
  EXPECT_EQ(settings.Text("trees.kind"), "b");
  std::map<std::string, std::pair<nlohmann::json, std::string>> found;
  for (const OpenValue& value : settings.Open()) {
    EXPECT_TRUE(
        found.emplace(value.key, std::pair(nlohmann::json::parse(value.json), value.origin)).second)
        << value.key;
  }
  const std::map<std::string, std::pair<nlohmann::json, std::string>> expected = {
      {"depth", {"a \"7\"", "command line"}},
      {"rate", {0.1, "t.toml:4:1"}},
      {"list", {{1, "x\"y"}, "t.toml:5:1"}},
      {"sub", {{{"no", 2.5}}, "t.toml:6:8"}}};
  EXPECT_EQ(found, expected);
  // Elsewhere keys are those of the rows, as ever.
  EXPECT_THAT(settings.Set("data.paths", "p", "--x").message(), HasSubstr("did you mean"));
  EXPECT_THAT(settings.Set("trees.", "p", "--x").message(), HasSubstr("unknown key 'trees.'"));
  EXPECT_THAT(settings.LoadToml("[treess]\ndepth = 4\n", "t.toml").message(),
              HasSubstr("unknown section 'treess'; did you mean 'trees'?"));
}

TEST(SettingsTest, MarkdownHasARowForEachSetting) {
  const std::string text = SettingsMarkdown(kTable);
  EXPECT_THAT(text, HasSubstr("## cluster.toml\n"));
  EXPECT_THAT(text, HasSubstr("### [server]\n"));
  EXPECT_THAT(text, HasSubstr("| `server.lanes` | integer from 1 to 64 | `1` | `--lanes` | "
                              "Threads that own rows. |\n"));
  EXPECT_THAT(text, HasSubstr("### [[column]]\n\nA column of the data.\n"));
  EXPECT_THAT(text, HasSubstr("| `--rank` | integer | -1 | Rank. |\n"));
}

}  // namespace
}  // namespace strata
