#include "worker/gbdt/model/json_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/human_text.h"

namespace strata {
namespace {

std::string Shown(const nlohmann::json& value) {
  if (value.is_array() || value.is_object()) {
    return fmt::format("an {} of {}", value.type_name(), value.size());
  }
  return ShownBytes(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// `byte`, from 1 on, is where the parser gave up, maybe within a word.
std::string WhatEndsJson(std::string_view text, const std::string& name, size_t byte) {
  size_t at = std::min(text.size(), std::max<size_t>(1, byte) - 1);
  while (at < text.size() && at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0)
    --at;
  const std::string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return fmt::format("{}: line {}, column {}: expected JSON, found {}", name, line, column,
                     at < text.size() ? fmt::format("'{}'", ShownBytes(text.substr(at), 20))
                                      : "the end of the file");
}

}  // namespace

Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name, int depth_max) {
  using Event = nlohmann::json::parse_event_t;
  std::map<int, std::set<std::string, std::less<>>> keys;  // of the open objects, by depth
  std::optional<std::string> twice;
  const auto look = [&](int depth, Event event, const nlohmann::json& value) {
    if (event == Event::object_start) keys[depth + 1].clear();
    if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!twice.has_value() && !keys[depth].insert(key).second) twice = key;
    }
    return depth <= depth_max;
  };
  try {
    nlohmann::json json = nlohmann::json::parse(text, look);
    if (!twice.has_value()) return json;
    return Corrupt(fmt::format("{}: the key '{}' stands twice in an object: give it once", name,
                               ShownBytes(*twice)));
  } catch (const nlohmann::json::parse_error& error) {
    return Corrupt(WhatEndsJson(text, name, error.byte));
  } catch (const nlohmann::json::exception&) {
    return Corrupt(name + ": a number is out of range");
  }
}

Status JsonAt::Wrong(const std::string& what) const {
  return Corrupt(fmt::format("{}{}{}", where_, where_.ends_with(' ') ? "" : ": ", what));
}

Status JsonAt::Expected(const std::string& what) const {
  return Wrong(fmt::format("expected {}, found {}", what, Shown(*value_)));
}

Result<JsonAt> JsonAt::At(const char* key) const {
  if (!value_->is_object()) return Expected("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) return Wrong(fmt::format("'{}' is missing", key));
  return JsonAt(*found, fmt::format("{}{}{}", where_, where_.ends_with(' ') ? "" : ".", key));
}

Result<std::vector<JsonAt>> JsonAt::Items() const {
  if (!value_->is_array()) return Expected("an array");
  std::vector<JsonAt> items;
  for (size_t i = 0; i < value_->size(); ++i) {
    items.emplace_back((*value_)[i], fmt::format("{}[{}]", where_, i));
  }
  return items;
}

Result<std::string> JsonAt::Text() const {
  if (!value_->is_string()) return Expected("a text");
  return value_->get<std::string>();
}

Result<bool> JsonAt::Bool() const {
  if (!value_->is_boolean()) return Expected("true or false");
  return value_->get<bool>();
}

Result<double> JsonAt::Number() const {
  double number = 0;
  if (value_->is_number()) {
    number = value_->get<double>();
  } else {
    const std::string* const text = value_->get_ptr<const std::string*>();
    const char* const end = text == nullptr ? nullptr : text->data() + text->size();
    if (text == nullptr || std::from_chars(text->data(), end, number).ptr != end || text->empty()) {
      return Expected("a number");
    }
  }
  if (std::isfinite(number)) return number;
  return Wrong(fmt::format("expected a finite number, found {}", number));
}

Result<int64_t> JsonAt::Whole(int64_t min, int64_t max) const {
  STRATA_ASSIGN(const double number, Number());
  if (number != std::floor(number) || number < static_cast<double>(min) ||
      number > static_cast<double>(max)) {
    return Wrong(fmt::format("expected a whole number from {} to {}, found {}", min, max, number));
  }
  return static_cast<int64_t>(number);
}

Status JsonAt::CheckList(size_t count) const {
  if (value_->is_array() && value_->size() == count) return {};
  return Expected(fmt::format("an array of {}", count));
}

Result<std::vector<int64_t>> JsonAt::WholeList(size_t count, int64_t min, int64_t max) const {
  STRATA_TRY(CheckList(count));
  std::vector<int64_t> list;
  for (const nlohmann::json& item : *value_) {
    if (item.is_boolean()) {
      list.push_back(item.get<bool>() ? 1 : 0);
    } else if (item.is_number_integer() && item.get<int64_t>() >= min &&
               item.get<int64_t>() <= max) {
      list.push_back(item.get<int64_t>());
    } else {
      return Wrong(fmt::format("expected whole numbers from {} to {}, found {} at place {}", min,
                               max, Shown(item), list.size()));
    }
  }
  return list;
}

Result<std::vector<double>> JsonAt::NumberList(size_t count) const {
  STRATA_TRY(CheckList(count));
  return NumberList();
}

Result<std::vector<double>> JsonAt::NumberList() const {
  if (!value_->is_array()) return Expected("an array");
  std::vector<double> list;
  list.reserve(value_->size());
  for (const nlohmann::json& item : *value_) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      return Wrong(fmt::format("expected numbers, found {} at place {}", Shown(item), list.size()));
    }
    list.push_back(item.get<double>());
  }
  return list;
}

}  // namespace strata
