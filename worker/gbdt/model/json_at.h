// JsonAt: a place in a JSON document, for readers that say where something is wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata {

// The document of a text. kCorrupt: name, line and column, what is there; or a key that an object
// has twice. Values nested deeper than `depth_max` are left out.
Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name,
                                 int depth_max = 32);

// The document outlives it. Errors are kCorrupt: name, the place, expected and found.
class JsonAt {
 public:
  JsonAt(const nlohmann::json& value, std::string where)
      : value_(&value), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  const nlohmann::json& value() const { return *value_; }
  bool Has(const char* key) const { return value_->is_object() && value_->contains(key); }
  // Whether it is an object with such a member, and that is not null.
  bool Holds(const char* key) const { return Has(key) && !value_->find(key)->is_null(); }
  // The member of an object.
  Result<JsonAt> At(const char* key) const;
  // The items of an array.
  Result<std::vector<JsonAt>> Items() const;
  Result<std::string> Text() const;
  Result<bool> Bool() const;
  // A number, or a text that spells one.
  Result<double> Number() const;
  // The same, whole and in [min, max].
  Result<int64_t> Whole(int64_t min, int64_t max) const;
  // An array of whole numbers in [min, max], true and false as 1 and 0; `count` of them.
  Result<std::vector<int64_t>> WholeList(size_t count, int64_t min, int64_t max) const;
  Result<std::vector<double>> NumberList(size_t count) const;
  // Any number of numbers.
  Result<std::vector<double>> NumberList() const;
  Status Wrong(const std::string& what) const;
  // The same, with what is there: "expected WHAT, found 7".
  Status Expected(const std::string& what) const;

 private:
  Status CheckList(size_t count) const;

  const nlohmann::json* value_;
  std::string where_;
};

}  // namespace strata
