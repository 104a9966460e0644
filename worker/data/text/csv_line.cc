#include "worker/data/text/csv_line.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little,
              "WordMatches counts bytes from the low end");

// 0x80 in exactly those bytes of `word` that equal the pattern's (Warren, "Hacker's Delight", 6-1).
uint64_t WordMatches(uint64_t word, uint64_t pattern) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fULL;
  const uint64_t difference = word ^ pattern;
  return ~(((difference & kLow) + kLow) | difference | kLow);
}

// Finds the delimiters of one line, eight bytes at a time.
class DelimiterScan {
 public:
  DelimiterScan(std::string_view line, char delimiter)
      : line_(line),
        delimiter_(delimiter),
        pattern_(0x0101010101010101ULL * static_cast<uint8_t>(delimiter)) {
    Load(0);
  }

  // The place of the first delimiter at or behind `from`, or the line's end. `from` never falls.
  size_t Find(size_t from) {
    while (true) {
      while (matches_ != 0) {
        const size_t place = base_ + static_cast<size_t>(std::countr_zero(matches_)) / 8;
        if (place >= from) return place;
        matches_ &= matches_ - 1;
      }
      const size_t next = base_ + 8;
      if (next >= line_.size()) return line_.size();
      Load(from > next ? from : next);
      if (base_ >= line_.size()) return line_.size();
    }
  }

 private:
  void Load(size_t base) {
    base_ = base;
    matches_ = 0;
    if (base >= line_.size()) return;
    if (line_.size() - base >= 8) {
      uint64_t word;
      std::memcpy(&word, line_.data() + base, 8);
      matches_ = WordMatches(word, pattern_);
      return;
    }
    for (size_t i = line_.size(); i-- > base;) {
      if (line_[i] == delimiter_) matches_ |= 0x80ULL << (8 * (i - base));
    }
  }

  std::string_view line_;
  char delimiter_;
  uint64_t pattern_;
  size_t base_ = 0;       // of the word that was looked at last
  uint64_t matches_ = 0;  // its delimiters that were not passed yet
};

// What SplitCsvLine works on: the line, where it stands, and what counts as a blank.
struct Splitter {
  std::string_view line;
  char delimiter;
  bool trim;
  size_t place = 0;

  bool IsBlank(char c) const { return trim && (c == ' ' || c == '\t') && c != delimiter; }
  void SkipBlanks() {
    while (place < line.size() && IsBlank(line[place])) ++place;
  }

  // A field that begins with the quote at `place`; leaves `place` behind its closing quote and
  // blanks.
  const char* Quoted(CsvFields* out) {
    const size_t begin = ++place;
    const size_t unquoted_begin = out->unquoted.size();
    bool doubled = false;
    size_t from = begin;
    while (true) {
      const size_t quote = line.find('"', place);
      if (quote == std::string_view::npos) {
        return "a quoted field does not end on its line (fields cannot go on over a line end)";
      }
      place = quote + 1;
      if (place >= line.size() || line[place] != '"') break;
      doubled = true;
      out->unquoted.append(line.substr(from, place - from));  // with one of the two quotes
      from = ++place;
    }
    const size_t end = place - 1;
    if (doubled) {
      out->unquoted.append(line.substr(from, end - from));
      out->fields.push_back(std::string_view(out->unquoted).substr(unquoted_begin));
    } else {
      out->fields.push_back(line.substr(begin, end - begin));
    }
    SkipBlanks();
    const bool ended = place == line.size() || line[place] == delimiter;
    return ended ? nullptr : "text behind the closing quote of a field";
  }

  void Plain(size_t end, CsvFields* out) {
    size_t last = end;
    while (last > place && IsBlank(line[last - 1])) --last;
    out->fields.push_back(line.substr(place, last - place));
    place = end;
  }
};

}  // namespace

const char* SplitCsvLine(std::string_view line, char delimiter, bool trim, CsvFields* out) {
  out->fields.clear();
  out->unquoted.clear();
  out->unquoted.reserve(line.size());  // so that fields in it never move
  DelimiterScan scan(line, delimiter);
  Splitter splitter{line, delimiter, trim};
  while (true) {
    splitter.SkipBlanks();
    if (splitter.place < line.size() && line[splitter.place] == '"') {
      if (const char* reason = splitter.Quoted(out)) return reason;
    } else {
      splitter.Plain(scan.Find(splitter.place), out);
    }
    if (splitter.place >= line.size()) return nullptr;
    ++splitter.place;  // the delimiter; at the line's end an empty field follows it
    if (splitter.place == line.size()) {
      out->fields.emplace_back();
      return nullptr;
    }
  }
}

}  // namespace strata
