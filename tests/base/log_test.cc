#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file/disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(LogTest, LevelsByName) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(*ParseLogLevel("info"), LogLevel::kInfo);
  EXPECT_EQ(*ParseLogLevel("warning"), LogLevel::kWarning);
  EXPECT_EQ(*ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(*ParseLogLevel("off"), LogLevel::kOff);
  EXPECT_EQ(ParseLogLevel("INFO").status().code(), StatusCode::kInvalid);
}

TEST(LogTest, LinesHaveTimeLevelAndNode) {
  const TempFolder folder;
  const std::string file = folder.File("log");
  ASSERT_TRUE(StartLogging(LogLevel::kInfo, "server-0", file).ok());
  Log(LogLevel::kInfo, "shard: table {} created dim={}", "embedding", 17);
  const std::string text = ReadWholeFile(file);
  EXPECT_THAT(text,
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z "
                           "info server-0 shard: table embedding created dim=17\n"));
}

TEST(LogTest, LevelsBelowAreLeftOut) {
  const TempFolder folder;
  const std::string file = folder.File("log");
  ASSERT_TRUE(StartLogging(LogLevel::kWarning, "n", file).ok());
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kError));
  Log(LogLevel::kInfo, "quiet");
  Log(LogLevel::kError, "loud");
  EXPECT_THAT(ReadWholeFile(file), Not(HasSubstr("quiet")));
  EXPECT_THAT(ReadWholeFile(file), HasSubstr(" error n loud\n"));
  ASSERT_TRUE(StartLogging(LogLevel::kOff, "n", file).ok());
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  EXPECT_FALSE(LogEnabled(LogLevel::kOff));
}

TEST(LogTest, AFileThatWasRenamedIsLetGo) {
  const TempFolder folder;
  const std::string file = folder.File("log");
  ASSERT_TRUE(StartLogging(LogLevel::kInfo, "n", file).ok());
  Log(LogLevel::kInfo, "before");
  ASSERT_TRUE(RealDisk().Rename(file, file + ".1").ok());
  Log(LogLevel::kInfo, "meanwhile");
  ASSERT_TRUE(ReopenLog().value());
  Log(LogLevel::kInfo, "after");
  EXPECT_THAT(ReadWholeFile(file + ".1"), HasSubstr("meanwhile"));
  EXPECT_THAT(ReadWholeFile(file + ".1"), Not(HasSubstr("after")));
  EXPECT_THAT(ReadWholeFile(file), HasSubstr("after"));
  ASSERT_TRUE(StartLogging(LogLevel::kInfo, "n", "").ok());
  EXPECT_FALSE(ReopenLog().value()) << "there is no file";
}

TEST(LogTest, TextCannotForgeALine) {
  const TempFolder folder;
  const std::string file = folder.File("log");
  ASSERT_TRUE(StartLogging(LogLevel::kInfo, "50%v", file).ok());
  Log(LogLevel::kInfo, "first {}\n2026-01-01T00:00:00.000Z info forged\x1b[0m", "{}%v");
  const std::string text = ReadWholeFile(file);
  EXPECT_THAT(text,
              HasSubstr("info 50%v first {}%v\n    2026-01-01T00:00:00.000Z info forged?[0m\n"));
}

TEST(LogTest, AProgramTakesTheLines) {
  const TempFolder folder;
  const std::string file = folder.File("log");
  ASSERT_TRUE(StartLogging(LogLevel::kInfo, "n", file).ok());
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, std::string_view text) {
    lines.push_back(fmt::format("{} {}", static_cast<int>(level), text));
  });
  SetLogLevel(LogLevel::kWarning);
  Log(LogLevel::kInfo, "quiet");
  Log(LogLevel::kError, "loud\nand long");
  SetLogSink(nullptr);
  Log(LogLevel::kWarning, "to the file");
  EXPECT_THAT(lines, testing::ElementsAre("3 loud\n    and long"));
  EXPECT_THAT(ReadWholeFile(file), HasSubstr("to the file"));
  EXPECT_THAT(ReadWholeFile(file), Not(HasSubstr("loud")));
}

TEST(LogTest, AFileThatCannotBeWrittenIsAnError) {
  const Status status = StartLogging(LogLevel::kInfo, "n", "/proc/no/such/folder/log");
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_THAT(status.message(), HasSubstr("/proc/no/such/folder/log"));
  const TempFolder folder;
  const std::string missing = folder.File("nosuch");
  EXPECT_THAT(StartLogging(LogLevel::kInfo, "n", missing + "/below/log").message(),
              HasSubstr("there is no folder " + missing + "/below; make it first"));
  EXPECT_EQ(RealDisk().List(missing).status().code(), StatusCode::kNotFound) << "made in silence";
}

}  // namespace
}  // namespace strata
