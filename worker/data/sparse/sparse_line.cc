#include "worker/data/sparse/sparse_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/human_text.h"
#include "worker/data/feature/number_text.h"

namespace strata {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kQuery = "qid:";

std::string_view WithoutComment(std::string_view line, SparseFormat format) {
  return format == SparseFormat::kLibsvm ? line.substr(0, line.find('#')) : line;
}

// The next word, which is taken off the line; "" at its end.
std::string_view TakeWord(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(kBlanks), line->size()));
  const std::string_view word = line->substr(0, line->find_first_of(kBlanks));
  line->remove_prefix(word.size());
  return word;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool ReadField(std::string_view text, uint32_t* field) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *field);
  return error == std::errc() && stop == end && IsDigits(text);
}

std::string WrongWord(std::string_view word, const char* why) {
  return fmt::format("'{}': {}", ShownBytes(word), why);
}

// A word "field:feature:value", or "index:value".
std::string ReadValue(std::string_view word, SparseFormat format, SparseValue* value) {
  const bool has_field = format == SparseFormat::kLibffm;
  const auto colons = std::ranges::count(word, ':');
  if (colons != (has_field ? 2 : 1)) {
    return WrongWord(word, has_field ? "expected field:feature:value" : "expected index:value");
  }
  std::string_view rest = word;
  if (has_field) {
    const size_t colon = rest.find(':');
    if (!ReadField(rest.substr(0, colon), &value->field)) {
      return WrongWord(word, "the field is no whole number from 0 to 4294967295");
    }
    rest.remove_prefix(colon + 1);
  }
  const size_t colon = rest.find(':');
  value->text = rest.substr(0, colon);
  if (has_field && value->text.empty()) return WrongWord(word, "the feature is empty");
  if (!has_field) {
    if (!IsDigits(value->text)) return WrongWord(word, "the index is no whole number");
    const size_t zeros = value->text.find_first_not_of('0');
    value->text.remove_prefix(std::min(zeros, value->text.size() - 1));
  }
  double number = 0;
  if (!ParseNumber(rest.substr(colon + 1), &number)) {
    return WrongWord(word, "the value is no finite number");
  }
  value->weight = static_cast<float>(number);
  return "";
}

}  // namespace

std::string SplitSparseLine(std::string_view line, SparseFormat format, SparseLine* out) {
  out->label = {};
  out->values.clear();
  std::string_view rest = WithoutComment(line, format);
  std::string_view word = TakeWord(&rest);
  if (word.find(':') == word.npos) {
    out->label = word;
    word = TakeWord(&rest);
  }
  if (format == SparseFormat::kLibsvm && word.starts_with(kQuery)) {
    if (!IsDigits(word.substr(kQuery.size()))) {
      return WrongWord(word, "the query is no whole number");
    }
    word = TakeWord(&rest);
  }
  for (; !word.empty(); word = TakeWord(&rest)) {
    SparseValue value;
    std::string reason = ReadValue(word, format, &value);
    if (!reason.empty()) return reason;
    out->values.push_back(value);
  }
  return "";
}

bool IsSkippedSparseLine(std::string_view line, SparseFormat format) {
  return WithoutComment(line, format).find_first_not_of(kBlanks) == std::string_view::npos;
}

}  // namespace strata
