// Where the answers of strata-admin collection search go: --to.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/admin/admin_fixture.h"

namespace strata {
namespace {

class CollectionAnswers : public AdminFixture {
 protected:
  CollectionAnswers() : AdminFixture(AdminData::kNone) {
    WriteWholeFile(folder_.File("baskets.txt"), "1,2,3\n6\n");
    EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
    EXPECT_EQ(Admin({"collection", "load", "baskets", folder_.File("baskets.txt")}).end.code, 0);
  }

  ProcessResult SearchTo(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"collection", "search", "baskets", "--query", "1,2",
                                      "-k",         "1",      "--to",    name};
    words.insert(words.end(), more.begin(), more.end());
    return Admin(std::move(words));
  }
};

TEST_F(CollectionAnswers, StandardOutputGetsThemAndNothingElse) {
  ASSERT_EQ(SearchTo(folder_.File("answers")).end.code, 0);
  const std::string answers = ReadWholeFile(folder_.File("answers"));
  for (const char* name : {"-", "/dev/stdout"}) {
    const ProcessResult shown = SearchTo(name);
    EXPECT_EQ(shown.end.code, 0) << shown.errors;
    // The first line is a time.
    EXPECT_EQ(shown.output.substr(shown.output.find('\n')), answers.substr(answers.find('\n')));
  }
}

TEST_F(CollectionAnswers, TheyAndJsonExcludeEachOtherOnStandardOutput) {
  const ProcessResult both = SearchTo("-", {"-o", "json"});
  EXPECT_EQ(both.end.code, 2);
  EXPECT_EQ(both.output, "");
  EXPECT_NE(both.errors.find("exclude each other"), std::string::npos) << both.errors;
}

TEST_F(CollectionAnswers, AnExportIsNoStandardOutput) {
  for (const char* name : {"-", "/dev/stdout"}) {
    const ProcessResult exported = Admin({"collection", "export", "baskets", name});
    EXPECT_EQ(exported.end.code, 2);
    EXPECT_NE(exported.errors.find("expected a folder"), std::string::npos) << exported.errors;
  }
}

// Whoever knows the name could have another file overwritten.
TEST_F(CollectionAnswers, ALinkUnderTheirTemporaryNameIsNotFollowed) {
  WriteWholeFile(folder_.File("victim"), "precious");
  std::filesystem::create_symlink("victim", folder_.File("answers.tmp"));
  const ProcessResult searched = SearchTo(folder_.File("answers"));
  EXPECT_EQ(searched.end.code, 0) << searched.errors;
  EXPECT_EQ(ReadWholeFile(folder_.File("victim")), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(folder_.File("answers")));
}

}  // namespace
}  // namespace strata
