// The calls of strata/table_store.h on one table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "strata/local_store.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const TableSpec kUsers{.name = "users", .dim = 2, .optimizer = {.learning_rate = 0.5F}};

class TableCalls : public testing::Test {
 protected:
  TableCalls() { EXPECT_TRUE(store_->CreateTable(kUsers).ok()); }

  const std::unique_ptr<TableStore> store_ = MakeLocalStore();
};

TEST_F(TableCalls, EachDoesWhatItsOperationDoes) {
  const std::vector<Key> keys = {7, 8};
  ASSERT_TRUE(Assign(*store_, kUsers, keys, std::vector<float>{1, 2, 3, 4}).ok());
  ASSERT_TRUE(Push(*store_, kUsers, keys, std::vector<float>{2, 0, 0, 4}).ok());
  EXPECT_THAT(Pull(*store_, kUsers, keys).value(), ElementsAre(0, 2, 3, 2));
  ASSERT_TRUE(Erase(*store_, kUsers, std::vector<Key>{7, 9}).ok());
  EXPECT_THAT(Pull(*store_, kUsers, keys).value(), ElementsAre(0, 0, 3, 2));
  EXPECT_EQ(Stats(*store_, kUsers)->rows, 1U);
}

TEST_F(TableCalls, AScanGoesOverEveryRow) {
  constexpr Key kRows = 10'000;  // several pages
  std::vector<Key> keys;
  std::vector<float> values;
  for (Key key = 0; key < kRows; ++key) {
    keys.push_back(key);
    values.insert(values.end(), {static_cast<float>(key), 1});
  }
  ASSERT_TRUE(Assign(*store_, kUsers, keys, values).ok());
  std::map<Key, float> found;
  size_t pages = 0;
  ASSERT_TRUE(Scan(*store_, kUsers, [&](std::span<const Key> page, std::span<const float> rows) {
                ++pages;
                for (size_t i = 0; i < page.size(); ++i) found[page[i]] = rows[2 * i];
                return Status::Ok();
              }).ok());
  EXPECT_GT(pages, 1U);
  ASSERT_EQ(found.size(), kRows);
  for (const auto& [key, first] : found) ASSERT_EQ(first, static_cast<float>(key));

  const Status ended = Scan(*store_, kUsers, [](auto...) { return Cancelled("enough"); });
  EXPECT_EQ(ended.ToString(), Cancelled("enough").ToString());
}

TEST_F(TableCalls, ErrorsNameTheTable) {
  const TableSpec other{.name = "others", .dim = 2};
  const std::vector<Key> keys = {1};
  const std::vector<float> row = {1, 2};
  const auto ignore = [](auto...) { return Status::Ok(); };
  for (const Status& status : {Pull(*store_, other, keys).status(), Push(*store_, other, keys, row),
                               Assign(*store_, other, keys, row), Erase(*store_, other, keys),
                               Scan(*store_, other, ignore), Stats(*store_, other).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_THAT(status.message(), HasSubstr("table 'others': "));
  }
}

TEST_F(TableCalls, WrongSizesAreToldInTheCallersWords) {
  const std::vector<Key> keys = {1, 2};
  const auto invalid = [](const Status& status, const std::string& message) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_EQ(status.message(), message);
  };
  for (const size_t size : {0, 3, 6}) {
    const std::vector<float> numbers(size);
    invalid(Push(*store_, kUsers, keys, numbers),
            "table 'users': gradients: expected 4 elements (2 keys x dim 2), found " +
                std::to_string(size));
    invalid(Assign(*store_, kUsers, keys, numbers),
            "table 'users': values: expected 4 elements (2 keys x dim 2), found " +
                std::to_string(size));
  }
  invalid(Push(*store_, kUsers, {}, std::vector<float>{1, 2}),
          "table 'users': gradients: expected 0 elements (0 keys x dim 2), found 2");
}

TEST_F(TableCalls, AnotherDimThanTheTablesIsTold) {
  const std::vector<Key> keys = {1, 2};
  for (const uint32_t dim : {0U, 1U, 3U}) {
    TableSpec other = kUsers;
    other.dim = dim;
    const std::vector<float> numbers(keys.size() * dim);
    for (const Status& status :
         {Pull(*store_, other, keys).status(), Push(*store_, other, keys, numbers),
          Assign(*store_, other, keys, numbers)}) {
      EXPECT_EQ(status.code(), StatusCode::kInvalid);
      EXPECT_EQ(status.message(),
                "table 'users': dim: expected 2, which the table was made with, found " +
                    std::to_string(dim) + " in the TableSpec of this call");
    }
  }
  EXPECT_THAT(Push(*store_, kUsers, keys, std::vector<float>(4), 0).message(),
              HasSubstr("table 'users': step of an update"))
      << "an error of something else stays";
}

}  // namespace
}  // namespace strata
