#include "worker/gbdt/model/json_at.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace strata {
namespace {

constexpr int kDepthMax = 32;

std::string Shown(const nlohmann::json& value) {
  if (value.is_array() || value.is_object()) {
    return fmt::format("an {} of {}", value.type_name(), value.size());
  }
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 40);
}

}  // namespace

Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name) {
  const auto is_shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    return depth <= kDepthMax;
  };
  try {
    return nlohmann::json::parse(text, is_shallow);
  } catch (const nlohmann::json::exception& error) {
    return Corrupt(fmt::format("{}: {}", name, error.what()));
  }
}

Status JsonAt::Wrong(const std::string& what) const {
  return Corrupt(fmt::format("{}: {}", where_, what));
}

Result<JsonAt> JsonAt::At(const char* key) const {
  if (!value_->is_object())
    return Wrong(fmt::format("expected an object, found {}", Shown(*value_)));
  const auto found = value_->find(key);
  if (found == value_->end()) return Wrong(fmt::format("'{}' is missing", key));
  return JsonAt(*found, fmt::format("{}{}{}", where_, where_.ends_with(' ') ? "" : ".", key));
}

Result<std::vector<JsonAt>> JsonAt::Items() const {
  if (!value_->is_array()) return Wrong(fmt::format("expected an array, found {}", Shown(*value_)));
  std::vector<JsonAt> items;
  for (size_t i = 0; i < value_->size(); ++i) {
    items.emplace_back((*value_)[i], fmt::format("{}[{}]", where_, i));
  }
  return items;
}

Result<std::string> JsonAt::Text() const {
  if (!value_->is_string()) return Wrong(fmt::format("expected a text, found {}", Shown(*value_)));
  return value_->get<std::string>();
}

Result<double> JsonAt::Number() const {
  double number = 0;
  if (value_->is_number()) {
    number = value_->get<double>();
  } else {
    const std::string* const text = value_->get_ptr<const std::string*>();
    const char* const end = text == nullptr ? nullptr : text->data() + text->size();
    if (text == nullptr || std::from_chars(text->data(), end, number).ptr != end || text->empty()) {
      return Wrong(fmt::format("expected a number, found {}", Shown(*value_)));
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
  return Wrong(fmt::format("expected an array of {}, found {}", count, Shown(*value_)));
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
  std::vector<double> list;
  for (const nlohmann::json& item : *value_) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      return Wrong(fmt::format("expected numbers, found {} at place {}", Shown(item), list.size()));
    }
    list.push_back(item.get<double>());
  }
  return list;
}

}  // namespace strata
