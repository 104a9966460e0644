#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/settings/settings.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr uint32_t kServer = 1;
constexpr uint32_t kWorker = 2;

constexpr Setting kRows[] = {
    {.key = "server.lanes",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Threads that own rows, each with an endpoint, a log and tables of its own.",
     .min = 1,
     .max = 64,
     .flag = "lanes",
     .programs = kServer},
    {.key = "server.insecure",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Allow to bind beyond loopback.",
     .flag = "insecure",
     .programs = kServer},
    {.key = "server.admit_from",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Pushes."},
    {.key = "server.keep_alive", .help = "Links."},
    {.key = "log.keep_alive", .help = "Files."},
    {.key = "config",
     .help = "The cluster's file.",
     .flag = "config",
     .programs = kServer | kWorker,
     .in_file = false},
    {.key = "log.level",
     .type = SettingType::kChoice,
     .default_value = "info",
     .help = "Level.",
     .choices = "info|off",
     .flag = "log_level",
     .programs = kServer | kWorker},
};
constexpr SettingsTable kTable{"cluster.toml", kRows, {}};

struct Parsed {
  Settings settings{kTable};
  Result<CommandLine> line = Invalid("not parsed");
};

Parsed Parse(std::vector<std::string> arguments, uint32_t program = kServer,
             const std::string& file = "") {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  Parsed parsed;
  const FlagTarget targets[] = {
      {&kTable, &parsed.settings, [&](const std::map<std::string, std::string>&) {
         return parsed.settings.LoadToml(file, "cluster.toml");
       }}};
  parsed.line = ParseCommandLine(static_cast<int>(argv.size()), argv.data(), program, targets);
  return parsed;
}

TEST(SettingsFlagsTest, FlagsOverrideTheFile) {
  const Parsed parsed = Parse({"--lanes=3"}, kServer, "[server]\nlanes = 2\ninsecure = true\n");
  ASSERT_TRUE(parsed.line.ok()) << parsed.line.status().ToString();
  EXPECT_EQ(parsed.settings.Int("server.lanes"), 3);
  EXPECT_EQ(parsed.settings.Origin("server.lanes"), "--lanes");
  EXPECT_TRUE(parsed.settings.Bool("server.insecure"));
  EXPECT_EQ(parsed.settings.Origin("server.insecure"), "cluster.toml:3:1");
}

TEST(SettingsFlagsTest, FormsAndOrder) {
  const Parsed a = Parse({"one", "--lanes", "5", "two", "--insecure", "x.y=3"});
  ASSERT_TRUE(a.line.ok()) << a.line.status().ToString();
  EXPECT_EQ(a.settings.Int("server.lanes"), 5);
  EXPECT_TRUE(a.settings.Bool("server.insecure"));
  EXPECT_THAT(a.line->positional, ElementsAre("one", "two", "x.y=3"));

  const Parsed b = Parse({"-lanes=6", "--noinsecure", "--log-level=off", "--", "--lanes=7", "-"});
  ASSERT_TRUE(b.line.ok()) << b.line.status().ToString();
  EXPECT_EQ(b.settings.Int("server.lanes"), 6);
  EXPECT_FALSE(b.settings.Bool("server.insecure"));
  EXPECT_TRUE(b.settings.IsSet("server.insecure"));
  EXPECT_EQ(b.settings.Text("log.level"), "off");
  EXPECT_THAT(b.line->positional, ElementsAre("--lanes=7", "-"));

  EXPECT_TRUE(Parse({"--insecure=true"}).settings.Bool("server.insecure"));
  EXPECT_EQ(Parse({"--lanes=2", "--lanes=4"}).settings.Int("server.lanes"), 4);
  EXPECT_FALSE(Parse({}).settings.IsSet("server.lanes"));
}

TEST(SettingsFlagsTest, HelpAndVersion) {
  EXPECT_TRUE(Parse({"--help"}).line->help);
  EXPECT_TRUE(Parse({"-h"}).line->help);
  EXPECT_TRUE(Parse({"--version"}).line->version);
  EXPECT_TRUE(Parse({"--help"}, kServer, "broken file").line->help);
}

TEST(SettingsFlagsTest, BadFlagsAreErrors) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--lnaes=3"}, "unknown flag '--lnaes'; did you mean '--lanes'? (see --help)"},
      {{"--zzzzzz"}, "unknown flag '--zzzzzz' (see --help)"},
      {{"--lanes"}, "--lanes needs a value: an integer from 1 to 64"},
      {{"--lanes", "--insecure"}, "--lanes needs a value: an integer from 1 to 64"},
      {{"--lanes=0"}, "--lanes: server.lanes must be an integer from 1 to 64; found '0'"},
      {{"--lanes="}, "--lanes: server.lanes must be an integer from 1 to 64; found ''"},
      {{"--insecure=maybe"}, "--insecure: server.insecure must be true or false; found 'maybe'"},
      {{"--admit_from=3"}, "--admit_from is no flag: set server.admit_from in cluster.toml"},
      {{"--keep-alive"},
       "--keep-alive is no flag: set server.keep_alive in cluster.toml or log.keep_alive in "
       "cluster.toml"},
      {{"--nolanes"}, "unknown flag '--nolanes'; did you mean '--lanes'? (see --help)"},
      {{"--help=xml"}, "--help takes no value; found 'xml'"},
      {{"--log_level=loud"}, "--log_level: log.level must be one of info, off; found 'loud'"},
  };
  for (const auto& [arguments, message] : cases) {
    const Parsed parsed = Parse(arguments);
    ASSERT_FALSE(parsed.line.ok()) << message;
    EXPECT_EQ(parsed.line.status().code(), StatusCode::kInvalid);
    EXPECT_EQ(parsed.line.status().message(), message);
  }
}

// gflags would obey these by itself.
TEST(SettingsFlagsTest, FlagsOfGflagsItselfAreUnknown) {
  for (const char* flag :
       {"--flagfile=/dev/null", "--fromenv=lanes", "--tryfromenv=lanes", "--undefok=lanes",
        "--helpfull", "--helpxml", "--helpshort", "--helpon=x", "--tab_completion_word=x"}) {
    const Parsed parsed = Parse({flag});
    ASSERT_FALSE(parsed.line.ok()) << flag;
    EXPECT_THAT(parsed.line.status().message(), HasSubstr("unknown flag")) << flag;
  }
}

TEST(SettingsFlagsTest, AProgramOffersOnlyItsFlags) {
  EXPECT_THAT(Parse({"--lanes=3"}, kWorker).line.status().message(), HasSubstr("unknown flag"));
  EXPECT_TRUE(Parse({"--config=a.toml"}, kWorker).line.ok());
}

TEST(SettingsFlagsTest, ErrorsOfTheFileComeThrough) {
  const Parsed parsed = Parse({}, kServer, "[server]\nlanes = 0\n");
  EXPECT_THAT(parsed.line.status().message(), HasSubstr("cluster.toml:2:1: server.lanes"));
}

TEST(SettingsFlagsTest, BeforeFlagsSeesTheFlagsOfItsTable) {
  Settings settings(kTable);
  std::map<std::string, std::string> seen;
  const FlagTarget targets[] = {
      {&kTable, &settings, [&](const std::map<std::string, std::string>& flags) {
         seen = flags;
         return Status::Ok();
       }}};
  std::string words[] = {"program", "--insecure", "--config=c.toml"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data()};
  ASSERT_TRUE(ParseCommandLine(3, argv, kServer, targets).ok());
  EXPECT_THAT(seen,
              ElementsAre(testing::Pair("config", "c.toml"), testing::Pair("insecure", "true")));
}

TEST(SettingsFlagsTest, HelpTextIsAlignedAndNarrow) {
  const SettingsTable* tables[] = {&kTable};
  const std::string text = HelpText("strata-server [flags]", "Serves.", kServer, tables);
  EXPECT_THAT(text, HasSubstr("Usage: strata-server [flags]\n\nServes.\n\n"
                              "Flags (- and _ are the same in their names):\n"));
  EXPECT_THAT(text, HasSubstr("\n  --lanes=N                     Threads that own rows"));
  EXPECT_THAT(text, HasSubstr("\n  --insecure                    Allow to bind"));
  EXPECT_THAT(text, HasSubstr("\n  --help                        Shows"));
  EXPECT_THAT(HelpText("w", "Works.", kWorker, tables), Not(HasSubstr("--lanes")));
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 100u);
    start = end + 1;
  }
}

}  // namespace
}  // namespace strata
