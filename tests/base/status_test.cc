#include "strata/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace strata {
namespace {

using testing::ContainsRegex;

TEST(StatusTest, OkIsEmpty) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.ToString(), "OK");
  EXPECT_TRUE(status.Prefixed("x").ok());
  EXPECT_TRUE(Status(StatusCode::kOk, "ignored").ok());
}

TEST(StatusTest, ContextGoesInFrontAndOriginStays) {
  const Status inner = Invalid("expected 3, found 4");
  const int line = __LINE__ - 1;
  const Status outer = inner.Prefixed("a.toml:7").Prefixed("loading");
  EXPECT_EQ(outer.code(), StatusCode::kInvalid);
  EXPECT_EQ(outer.ToString(), "INVALID: loading: a.toml:7: expected 3, found 4");
  EXPECT_THAT(outer.ToString(true),
              ContainsRegex("\\[.*status_test.cc:" + std::to_string(line) + "\\]"));
  EXPECT_EQ(inner.message(), "expected 3, found 4");
}

TEST(StatusTest, CodesHaveNamesNumbersAndExitCodes) {
  struct Case {
    Status status;
    int number;
    const char* name;
    int exit_code;
  };
  const Case cases[] = {
      {Status::Ok(), 0, "OK", 0},          {Failed(""), 1, "FAILED", 1},
      {Invalid(""), 2, "INVALID", 2},      {Lost(""), 3, "LOST", 3},
      {Refused(""), 4, "REFUSED", 4},      {NotFound(""), 5, "NOT_FOUND", 2},
      {AlreadyExists(""), 6, "EXISTS", 2}, {DeadlineExceeded(""), 7, "DEADLINE_EXCEEDED", 3},
      {Corrupt(""), 8, "CORRUPT", 1},      {Cancelled(""), 9, "CANCELLED", 1},
      {Internal(""), 70, "INTERNAL", 70},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(static_cast<int>(c.status.code()), c.number);
    EXPECT_EQ(StatusCodeName(c.status.code()), c.name);
    EXPECT_EQ(ExitCode(c.status), c.exit_code) << c.name;
  }
  // A number that a peer of a later version may send.
  EXPECT_EQ(StatusCodeName(static_cast<StatusCode>(999)), "UNKNOWN");
  EXPECT_EQ(ExitCode(Status(static_cast<StatusCode>(999), "")), 70);
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Invalid("odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  STRATA_ASSIGN(const int half, Half(n));
  STRATA_ASSIGN(const int quarter, Half(half));
  return quarter;
}

Status IsEven(int n) {
  STRATA_TRY(Half(n).status());
  return Status::Ok();
}

TEST(ResultTest, ValuesAndErrorsPassThrough) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_TRUE(Quarter(12).status().ok());
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(IsEven(2).ok());
  EXPECT_EQ(IsEven(3).code(), StatusCode::kInvalid);
}

TEST(ResultTest, MoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 5);
}

TEST(ResultTest, AnOkStatusIsNoError) {
  const Result<int> result = Status::Ok();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
}

TEST(CheckDeathTest, SaysWhatAndEndsWith70) {
  EXPECT_EXIT(STRATA_CHECK(1 > 2), testing::ExitedWithCode(70), "check failed: 1 > 2 at ");
  EXPECT_EXIT(STRATA_CHECK_MSG(false, "a=1 b=2"), testing::ExitedWithCode(70), "false: a=1 b=2");
}

}  // namespace
}  // namespace strata
