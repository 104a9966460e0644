#include "base/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

std::string Nested(size_t depth, const std::string& open = "[", const std::string& close = "]") {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += open;
  if (open.back() == ':') text += "1";
  for (size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonText, IsReadAsDeepAsItMayNest) {
  EXPECT_TRUE(ParseJson(Nested(kJsonDepthMax)).is_array());
  EXPECT_TRUE(ParseOrderedJson(Nested(kJsonDepthMax, "{\"a\":", "}")).is_object());
}

TEST(JsonText, DeeperThanThatIsNoValue) {
  for (const size_t depth : {size_t{kJsonDepthMax} + 1, size_t{200'000}}) {
    EXPECT_TRUE(ParseJson(Nested(depth)).is_discarded());
    EXPECT_TRUE(ParseJson(Nested(depth, "{\"a\":", "}")).is_discarded());
    EXPECT_TRUE(ParseOrderedJson(Nested(depth, "[{\"a\":", "}]")).is_discarded());
    EXPECT_TRUE(ParseJson(Nested(depth, "[", "")).is_discarded());
  }
}

TEST(JsonText, BracketsInTextsAreText) {
  EXPECT_EQ(ParseJson("[\"" + Nested(1'000) + "\\\"" + Nested(1'000) + "\"]").size(), 1U);
}

TEST(JsonText, SiblingsDoNotNest) {
  std::string text = "[";
  for (int i = 0; i < 1'000; ++i) text += "[[]],";
  EXPECT_EQ(ParseJson(text + "1]").size(), 1'001U);
}

TEST(JsonText, WhatIsNoJsonIsNoValue) {
  for (const char* text : {"", "{", "]", "[1,]", "\"", "\"\\", "nul"}) {
    EXPECT_TRUE(ParseJson(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace strata
