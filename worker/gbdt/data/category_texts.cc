#include "worker/gbdt/data/category_texts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/json_text.h"

namespace strata {

std::string WriteCategoryTexts(const CategoryTexts& texts) {
  // Whatever bytes a text holds: what is no UTF-8 is replaced.
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<CategoryTexts> ReadCategoryTexts(std::string_view text) {
  CategoryTexts all;
  if (text.empty() || text == "null") return all;
  const auto wrong = [&] {
    return Corrupt(fmt::format("pandas_categorical: expected [[\"a\",\"b\"],...], found '{}'",
                               ShownBytes(text, 80)));
  };
  const auto json = ParseJson(text);
  if (!json.is_array()) return wrong();
  for (const nlohmann::json& feature : json) {
    if (!feature.is_array()) return wrong();
    std::vector<std::string>& texts = all.emplace_back();
    for (const nlohmann::json& one : feature) {
      texts.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    }
  }
  return all;
}

}  // namespace strata
