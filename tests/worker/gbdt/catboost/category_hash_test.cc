#include "worker/gbdt/catboost/category_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

// Of each length that the hash treats by itself: what CatBoost 1.2.10 writes as a category's hash.
TEST(CategoryHash, IsCatBoosts) {
  const std::pair<std::string, uint32_t> known[] = {{"", 797982799U},
                                                    {"a", 3489901818U},
                                                    {"0", 2856682258U},
                                                    {"-1", 288298918U},
                                                    {"ab", 4090249022U},
                                                    {"abc", 978243121U},
                                                    {"abcd", 345588365U},
                                                    {"True", 1020970795U},
                                                    {"Z\xc3\xbcrich", 3409199112U},
                                                    {"12345678", 1054993967U},
                                                    {"123456789", 1389760245U},
                                                    {"0123456789abcdef", 2645308183U},
                                                    {"0123456789abcdef0", 1058429675U},
                                                    {std::string(32, 'x'), 664286079U},
                                                    {std::string(33, 'y'), 3368352023U},
                                                    {std::string(64, 'z'), 2725922757U},
                                                    {std::string(65, 'w'), 1141626801U},
                                                    {std::string(127, 'v'), 1866686915U},
                                                    {std::string(128, 'u'), 1151933266U},
                                                    {std::string(200, 't'), 3941135704U}};
  for (const auto& [text, hash] : known) EXPECT_EQ(CategoryHash(text), hash) << text;
}

}  // namespace
}  // namespace strata
