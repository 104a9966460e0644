// What the manifests share: a header line that seals a body, and careful reading of JSON. Only the
// folder's .cc files include this. The header line is
//   KIND VERSION BODY_BYTES CHECKSUM\n
// with decimal numbers and XXH3-64 of the body as 16 hexadecimal digits.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "strata/status.h"

namespace strata::format {

struct Seal {
  std::string_view kind;     // the first word, "strata-model"
  uint32_t version = 1;      // the newest that is read
  std::string_view what;     // for messages: "a model manifest"
  std::string_view program;  // for messages: "the strata-worker that saved the model"
};

std::string SealText(const Seal& seal, std::string_view body);
// The body, once the header line has proved it. kInvalid: another kind of file, or of a newer
// version; kCorrupt: bytes are missing, added or changed.
Result<std::string_view> UnsealText(const Seal& seal, std::string_view bytes,
                                    const std::string& file);

// Reads members of one JSON object; the first problem is kept, and everything after it is skipped.
class Members {
 public:
  Members(const nlohmann::json& object, std::string where)
      : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) status_ = Corrupt(where_ + ": expected a JSON object");
  }

  template <typename T>
  void Take(const char* name, T* value) {
    if (!status_.ok()) return;
    const auto member = object_.find(name);
    if (member == object_.end() || !Convert(*member, value)) {
      status_ = Corrupt(
          fmt::format("{}: \"{}\" is missing, of the wrong type or out of range", where_, name));
    }
  }

  // The value stays as it is where there is no such member.
  template <typename T>
  void TakeOptional(const char* name, T* value) {
    if (object_.is_object() && object_.contains(name)) Take(name, value);
  }

  const nlohmann::json* Array(const char* name) {
    if (!status_.ok()) return nullptr;
    const auto member = object_.find(name);
    if (member != object_.end() && member->is_array()) return &*member;
    status_ = Corrupt(fmt::format("{}: \"{}\" is missing or no array", where_, name));
    return nullptr;
  }

  const Status& status() const { return status_; }

 private:
  using json = nlohmann::json;

  static bool Convert(const json& from, std::string* to) {
    if (!from.is_string()) return false;
    *to = *from.get_ptr<const json::string_t*>();
    return true;
  }
  static bool Convert(const json& from, float* to) {
    if (!from.is_number()) return false;
    *to = from.get<float>();
    return std::isfinite(*to);
  }
  static bool Convert(const json& from, bool* to) {
    if (!from.is_boolean()) return false;
    *to = from.get<bool>();
    return true;
  }
  template <typename T>
  requires std::is_unsigned_v<T>
  static bool Convert(const json& from, T* to) {
    if (!from.is_number_unsigned()) return false;
    const auto value = from.get<uint64_t>();
    if (value > std::numeric_limits<T>::max()) return false;
    *to = static_cast<T>(value);
    return true;
  }
  template <typename T>
  static bool Convert(const json& from, std::vector<T>* to) {
    if (!from.is_array()) return false;
    to->resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (!Convert(from[i], &(*to)[i])) return false;
    }
    return true;
  }

  const json& object_;
  std::string where_;
  Status status_;
};

}  // namespace strata::format
