#include "worker/data/feature/text_counts.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "base/file/text_file.h"
#include "worker/data/feature/feature_key.h"

namespace strata {
namespace {

void PutNumber(uint64_t number, std::vector<std::byte>* bytes) {
  const auto raw = std::as_bytes(std::span(&number, 1));
  bytes->insert(bytes->end(), raw.begin(), raw.end());
}

// False when the bytes are at their end.
bool TakeNumber(std::span<const std::byte>* bytes, uint64_t* number) {
  if (bytes->size() < sizeof(*number)) return false;
  std::memcpy(number, bytes->data(), sizeof(*number));
  *bytes = bytes->subspan(sizeof(*number));
  return true;
}

// As RFC 4180 has it; blanks at an end are quoted, too, as readers may take them away.
std::string CsvField(const std::string& text) {
  const bool plain = text.find_first_of("\",\r\n") == text.npos &&
                     (text.empty() || (text.front() != ' ' && text.front() != '\t' &&
                                       text.back() != ' ' && text.back() != '\t'));
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

TextCounts::TextCounts(std::span<const FeatureSpec> features, size_t texts_max, size_t bytes_max)
    : features_(features.begin(), features.end()),
      counts_(features.size()),
      texts_max_(texts_max),
      bytes_max_(bytes_max) {}

void TextCounts::Add(size_t feature, std::string_view text, uint64_t rows) {
  if (features_[feature].kind != FeatureKind::kCategorical) return;
  Counts& counts = counts_[feature];
  const auto found = counts.find(text);
  if (found != counts.end()) {
    found->second += rows;
  } else if (texts_ >= texts_max_ || text.size() > bytes_max_ - bytes_) {
    not_kept_ += rows;
  } else {
    counts.emplace(text, rows);
    ++texts_;
    bytes_ += text.size();
  }
}

// Values not kept; then of each text its feature, rows and length, and its bytes. Little-endian.
std::vector<std::byte> TextCounts::Serialize() const {
  std::vector<std::byte> bytes;
  PutNumber(not_kept_, &bytes);
  for (size_t feature = 0; feature < counts_.size(); ++feature) {
    for (const auto& [text, rows] : counts_[feature]) {
      for (const uint64_t number : {uint64_t{feature}, rows, uint64_t{text.size()}}) {
        PutNumber(number, &bytes);
      }
      const auto raw = std::as_bytes(std::span(text));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
  }
  return bytes;
}

Status TextCounts::AddSerialized(std::span<const std::byte> bytes) {
  uint64_t not_kept = 0;
  if (!TakeNumber(&bytes, &not_kept)) return Corrupt("counts of texts are cut");
  not_kept_ += not_kept;
  while (!bytes.empty()) {
    uint64_t feature = 0;
    uint64_t rows = 0;
    uint64_t length = 0;
    if (!TakeNumber(&bytes, &feature) || !TakeNumber(&bytes, &rows) ||
        !TakeNumber(&bytes, &length) || length > bytes.size() || feature >= features_.size()) {
      return Corrupt("counts of texts are cut, or of other features");
    }
    Add(feature, {reinterpret_cast<const char*>(bytes.data()), length}, rows);
    bytes = bytes.subspan(length);
  }
  return {};
}

uint64_t TextCounts::TextsOfOtherBytes() const {
  uint64_t texts = 0;
  for (const Counts& counts : counts_) {
    for (const auto& [text, rows] : counts) texts += IsUtf8(text) ? 0 : 1;
  }
  return texts;
}

std::string TextCounts::ToCsv() const {
  std::string csv = "column,text,key,rows\n";
  for (size_t feature = 0; feature < counts_.size(); ++feature) {
    const std::string& column = features_[feature].column;
    const uint64_t salt = FeatureSalt(features_[feature]);
    for (const auto& [text, rows] : counts_[feature]) {
      fmt::format_to(std::back_inserter(csv), "{},{},{},{}\n", CsvField(column), CsvField(text),
                     text.empty() ? MissingKey(salt) : TextKey(salt, text), rows);
    }
  }
  return csv;
}

}  // namespace strata
