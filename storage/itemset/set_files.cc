#include "storage/itemset/set_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/file/npy_numbers.h"
#include "base/file/text_file.h"
#include "base/human_text.h"
#include "storage/itemset/item_export.h"
#include "strata/document.h"

namespace strata {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;
constexpr uint64_t kLineBytesMax = 16 << 20;  // more than the tokens that a set may have
constexpr int64_t kTokenMax = UINT32_MAX;
constexpr std::string_view kTokenRange = "a token, a whole number from 0 to 4294967295";
static_assert(kTokenMax == 4294967295);
constexpr std::string_view kRowsAdvice =
    "rows are sets; where sets stand one behind another, give --offsets, too";

// What to do about a word that is no token, where it shows.
std::string_view AdviceFor(std::string_view word) {
  if (word.starts_with("\x1f\x8b")) return ": the file is packed (gzip): unpack it";
  if (word.starts_with("\xff\xfe") || word.starts_with("\xfe\xff")) {
    return ": the file is UTF-16: write it as UTF-8";
  }
  const size_t digits = word.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return "";
  switch (word[digits]) {
    case ' ':
    case '\t':
    case ';':
      return ": put commas between tokens";
    case '\r':
      return ": end lines with \\n, or \\r\\n";
    default:
      return "";
  }
}

Status BadToken(size_t at, std::string_view found) {
  return Invalid(fmt::format("column {}: expected {}, found {}{}", at + 1, kTokenRange,
                             found.empty() ? "nothing" : "'" + ShownBytes(found, 20) + "'",
                             AdviceFor(found)));
}

Status CheckLength(size_t tokens) {
  if (tokens <= ItemSetSpec::kMostTokens) return {};
  return Invalid(
      fmt::format("expected at most {} tokens, found {}", ItemSetSpec::kMostTokens, tokens));
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const size_t end = text.find_last_not_of(kBlanks);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

class TextSets : public SetReader {
 public:
  static Result<std::unique_ptr<SetReader>> Open(std::unique_ptr<File> file,
                                                 const std::string& path) {
    auto made = std::make_unique<TextSets>();
    made->path_ = path;
    STRATA_ASSIGN(made->total_, file->Size());
    made->file_ = std::move(file);
    return std::unique_ptr<SetReader>(std::move(made));
  }

  Status Next(size_t most, std::vector<TokenSet>* sets) override {
    for (size_t i = 0; i < most; ++i) {
      STRATA_ASSIGN(const std::optional<std::string_view> line, Line());
      if (!line) return {};
      Result<TokenSet> set = ParseSetLine(*line);
      if (!set.ok()) return set.status().Prefixed(fmt::format("{}, line {}", path_, line_));
      sets->push_back(std::move(*set));
    }
    return {};
  }
  uint64_t done() const override { return read_ - (buffer_.size() - at_); }
  uint64_t total() const override { return total_; }
  Result<uint64_t> Count() const override {
    std::vector<char> piece(std::min(kPieceBytes, total_));
    uint64_t lines = 0;
    for (uint64_t at = 0; at < total_; at += piece.size()) {
      piece.resize(std::min(kPieceBytes, total_ - at));
      STRATA_ASSIGN(const size_t got, file_->ReadAt(at, std::as_writable_bytes(std::span(piece))));
      if (got < piece.size()) return Shorter();
      lines += static_cast<uint64_t>(std::ranges::count(piece, '\n'));
    }
    return lines + (!piece.empty() && piece.back() != '\n' ? 1 : 0);
  }

 private:
  Status Shorter() const { return Failed(fmt::format("{}: became shorter meanwhile", path_)); }

  // Valid until the next call.
  Result<std::optional<std::string_view>> Line() {
    size_t looked = at_;
    while (true) {
      const size_t end = buffer_.find('\n', looked);
      const bool is_last = end == std::string::npos && read_ == total_;
      if (is_last && at_ == buffer_.size()) return std::optional<std::string_view>();
      if (end != std::string::npos || is_last) {
        const size_t stop = is_last ? buffer_.size() : end;
        const std::string_view line = std::string_view(buffer_).substr(at_, stop - at_);
        at_ = is_last ? stop : stop + 1;
        ++line_;
        return std::optional(line_ == 1 ? WithoutByteOrderMark(line) : line);
      }
      if (buffer_.size() - at_ > kLineBytesMax) {
        return Invalid(fmt::format("{}, line {}: expected a line of at most {} bytes; is it text?",
                                   path_, line_ + 1, kLineBytesMax));
      }
      looked = buffer_.size() - at_;
      STRATA_TRY(ReadMore());
    }
  }

  Status ReadMore() {
    buffer_.erase(0, std::exchange(at_, 0));
    const size_t kept = buffer_.size();
    const uint64_t wanted = std::min(kPieceBytes, total_ - read_);
    buffer_.resize(kept + wanted);
    STRATA_ASSIGN(const size_t got,
                  file_->ReadAt(read_, std::as_writable_bytes(std::span(buffer_).subspan(kept))));
    if (got < wanted) return Shorter();
    read_ += got;
    return {};
  }

  std::unique_ptr<File> file_;
  std::string path_;
  uint64_t total_ = 0;
  uint64_t read_ = 0;
  uint64_t line_ = 0;
  std::string buffer_;
  size_t at_ = 0;  // in the buffer
};

class FolderSets : public SetReader {
 public:
  FolderSets(Disk& disk, std::string path, std::vector<std::string> names)
      : disk_(disk), path_(std::move(path)), names_(std::move(names)) {}

  Status Next(size_t most, std::vector<TokenSet>* sets) override {
    for (size_t i = 0; i < most && next_ < names_.size(); ++i, ++next_) {
      const std::string file = fmt::format("{}/{}", path_, names_[next_]);
      STRATA_ASSIGN(std::string text, ReadTextFile(disk_, file, kLineBytesMax));
      if (text.ends_with('\n')) text.pop_back();
      if (text.find('\n') != std::string::npos) {
        return Invalid(fmt::format("{}: expected one line, the set; found {}", file,
                                   std::count(text.begin(), text.end(), '\n') + 1));
      }
      Result<TokenSet> set = ParseSetLine(text);
      if (!set.ok()) return set.status().Prefixed(file);
      sets->push_back(std::move(*set));
    }
    return {};
  }
  uint64_t done() const override { return next_; }
  uint64_t total() const override { return names_.size(); }
  std::span<const std::string> files() const override { return names_; }

 private:
  Disk& disk_;
  const std::string path_;
  const std::vector<std::string> names_;
  size_t next_ = 0;
};

std::string PlaceOf(const std::string& path, uint64_t row) {
  return fmt::format("{}, row {}", path, row);
}

Status CheckRow(size_t tokens, const std::string& path, uint64_t row) {
  const Status fits = CheckLength(tokens);
  return fits.ok() ? fits : fits.Prefixed(PlaceOf(path, row));
}

// `row`, or the set of a CSR pair, whose length is the caller's to check; numbers below 0 are left
// out where rows are filled up with them.
Result<TokenSet> SetOf(const std::vector<int64_t>& numbers, bool filled, const std::string& path,
                       uint64_t row) {
  TokenSet set;
  for (const int64_t number : numbers) {
    if (filled && number < 0) continue;
    if (number < 0 || number > kTokenMax) {
      return Invalid(
          fmt::format("{}: expected {}, found {}", PlaceOf(path, row), kTokenRange, number));
    }
    set.push_back(static_cast<uint32_t>(number));
  }
  return set;
}

class RowSets : public SetReader {
 public:
  explicit RowSets(std::unique_ptr<NpyNumbers> rows) : rows_(std::move(rows)) {}

  Status Next(size_t most, std::vector<TokenSet>* sets) override {
    const uint64_t columns = rows_->columns();
    for (size_t i = 0; i < most && next_ < rows_->rows(); ++i, ++next_) {
      STRATA_ASSIGN(const std::vector<int64_t> row,
                    rows_->Read(next_ * columns, columns, kTokenRange));
      STRATA_ASSIGN(TokenSet set, SetOf(row, true, rows_->path(), next_));
      STRATA_TRY(CheckRow(set.size(), rows_->path(), next_));
      sets->push_back(std::move(set));
    }
    return {};
  }
  uint64_t done() const override { return next_; }
  uint64_t total() const override { return rows_->rows(); }

 private:
  const std::unique_ptr<NpyNumbers> rows_;
  uint64_t next_ = 0;
};

class CsrSets : public SetReader {
 public:
  CsrSets(std::unique_ptr<NpyNumbers> tokens, std::vector<int64_t> offsets)
      : tokens_(std::move(tokens)), offsets_(std::move(offsets)) {}

  Status Next(size_t most, std::vector<TokenSet>* sets) override {
    for (size_t i = 0; i < most && next_ + 1 < offsets_.size(); ++i, ++next_) {
      const auto begin = static_cast<uint64_t>(offsets_[next_]);
      const auto end = static_cast<uint64_t>(offsets_[next_ + 1]);
      STRATA_TRY(CheckRow(end - begin, tokens_->path(), next_));  // before memory is taken
      STRATA_ASSIGN(const std::vector<int64_t> numbers,
                    tokens_->Read(begin, end - begin, kTokenRange));
      STRATA_ASSIGN(TokenSet set, SetOf(numbers, false, tokens_->path(), next_));
      sets->push_back(std::move(set));
    }
    return {};
  }
  uint64_t done() const override { return next_; }
  uint64_t total() const override { return offsets_.size() - 1; }

 private:
  const std::unique_ptr<NpyNumbers> tokens_;
  const std::vector<int64_t> offsets_;
  size_t next_ = 0;
};

Result<std::unique_ptr<SetReader>> OpenCsr(Disk& disk, const std::string& path,
                                           const std::string& offsets_path) {
  auto opened = NpyNumbers::Open(disk, path, 1, "rows of tokens need no --offsets: leave it out");
  if (!opened.ok()) return opened.status().Prefixed("--offsets is for a .npy of tokens");
  std::unique_ptr<NpyNumbers> tokens = std::move(*opened);
  STRATA_ASSIGN(const std::unique_ptr<NpyNumbers> file,
                NpyNumbers::Open(disk, offsets_path, 1, "save x.ravel()"));
  if (file->rows() == 0) {
    return Invalid(
        fmt::format("{}: expected an offset for each set and one more, found none", offsets_path));
  }
  STRATA_ASSIGN(std::vector<int64_t> offsets,
                file->Read(0, file->rows(), fmt::format("an offset from 0 to {}", tokens->rows())));
  if (offsets.front() != 0 || static_cast<uint64_t>(offsets.back()) != tokens->rows()) {
    return Invalid(
        fmt::format("{}: expected offsets from 0 to {}, the tokens of {}; found {} to "
                    "{}: give where each set begins, and where the last one ends",
                    offsets_path, tokens->rows(), path, offsets.front(), offsets.back()));
  }
  const auto falls = std::ranges::is_sorted_until(offsets);
  if (falls != offsets.end()) {
    return Invalid(
        fmt::format("{}: expected offsets that do not fall, found {} as number {} behind {}: give "
                    "where each set begins",
                    offsets_path, *falls, falls - offsets.begin(), *(falls - 1)));
  }
  return std::unique_ptr<SetReader>(
      std::make_unique<CsrSets>(std::move(tokens), std::move(offsets)));
}

}  // namespace

Result<TokenSet> ParseSetLine(std::string_view line) {
  TokenSet set;
  if (Trimmed(line).empty()) return set;
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(line.find(',', begin), line.size());
    const std::string_view word = Trimmed(line.substr(begin, end - begin));
    uint32_t token = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), token);
    if (word.empty() || read.ec != std::errc() || read.ptr != word.data() + word.size()) {
      return BadToken(word.empty() ? begin : static_cast<size_t>(word.data() - line.data()), word);
    }
    set.push_back(token);
    if (end == line.size()) break;
    begin = end + 1;
  }
  STRATA_TRY(CheckLength(set.size()));
  return set;
}

Result<std::unique_ptr<SetReader>> OpenSets(Disk& disk, const std::string& path,
                                            const std::string& offsets) {
  if (IsItemExport(disk, path)) {
    if (!offsets.empty()) {
      return Invalid(
          fmt::format("{}: is an export, which has offsets of its own: leave --offsets out", path));
    }
    STRATA_TRY(CheckItemExport(disk, path).status());
    return OpenCsr(disk, fmt::format("{}/{}", path, kExportedTokens),
                   fmt::format("{}/{}", path, kExportedOffsets));
  }
  if (!offsets.empty()) return OpenCsr(disk, path, offsets);
  if (IsNpyName(path)) {
    STRATA_ASSIGN(std::unique_ptr<NpyNumbers> rows, NpyNumbers::Open(disk, path, 2, kRowsAdvice));
    return std::unique_ptr<SetReader>(std::make_unique<RowSets>(std::move(rows)));
  }
  Result<std::unique_ptr<File>> file = disk.OpenToRead(path);
  if (file.ok()) return TextSets::Open(std::move(*file), path);
  Result<std::vector<std::string>> names = disk.List(path);
  if (!names.ok()) return file.status();
  // What systems and editors leave there is no set.
  const size_t hidden =
      std::erase_if(*names, [](const std::string& name) { return name.starts_with('.'); });
  if (names->empty()) {
    return Invalid(fmt::format("{}: expected a folder with a file for each set, found none{}", path,
                               hidden > 0 ? " but hidden ones" : ""));
  }
  const auto array = std::ranges::find_if(*names, IsNpyName);
  if (array != names->end()) {
    return Invalid(fmt::format(
        "{}: expected a folder with a file of text for each set, found {}: name the array itself, "
        "as {}/tokens.npy --offsets {}/offsets.npy; an export is whole with its collection.json",
        path, ShownBytes(*array, 60), path, path));
  }
  return std::unique_ptr<SetReader>(std::make_unique<FolderSets>(disk, path, std::move(*names)));
}

Result<std::vector<std::vector<int64_t>>> ReadNumberRows(Disk& disk, const std::string& path) {
  STRATA_ASSIGN(
      const std::unique_ptr<NpyNumbers> file,
      NpyNumbers::Open(disk, path, 2, "save x.reshape(-1, 1), which has a row for each document"));
  std::vector<std::vector<int64_t>> rows;
  for (uint64_t row = 0; row < file->rows(); ++row) {
    STRATA_ASSIGN(std::vector<int64_t> numbers,
                  file->Read(row * file->columns(), file->columns(),
                             "a whole number from -2^63 to 2^63 - 1"));
    rows.push_back(std::move(numbers));
  }
  return rows;
}

}  // namespace strata
