#include "worker/data/file/file_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/file/text_file.h"
#include "worker/data/text/csv_line.h"

namespace strata {
namespace {

using namespace std::string_view_literals;

constexpr size_t kWordsLookedAt = 8;

struct Look {
  std::string_view begin;  // the file's first bytes
  std::string_view look;   // what they say
};

// Where several fit, the first counts.
constexpr Look kLooks[] = {
    {"PAR1"sv, "a Parquet file: write it as CSV (pandas: frame.to_csv(FILE, index=False))"},
    {"PARE"sv, "an encrypted Parquet file: write it as CSV"},
    {"ARROW1"sv, "an Arrow or Feather file: write it as CSV (pandas: read_feather, then to_csv)"},
    {"FEA1"sv, "a Feather file: write it as CSV (pandas: read_feather, then to_csv)"},
    {"ORC"sv, "an ORC file: write it as CSV (pandas: read_orc, then to_csv)"},
    {"Obj\x01"sv, "an Avro file: write it as CSV"},
    {"\x89HDF"sv, "an HDF5 file: write it as CSV (pandas: read_hdf, then to_csv)"},
    {"SQLite format 3"sv, "an SQLite database: write the table as CSV (sqlite3 -csv)"},
    {"\x80\x04\x95"sv, "a Python pickle: write it as CSV"},
    {"\x80\x05\x95"sv, "a Python pickle: write it as CSV"},
    {"%PDF"sv, "a PDF document: write the table as CSV"},
    {"\x1f\x8b"sv, "compressed with gzip: unpack it first (gunzip FILE)"},
    {"\x28\xb5\x2f\xfd"sv, "compressed with zstd: unpack it first (unzstd FILE)"},
    {"\xfd\x37zXZ"sv, "compressed with xz: unpack it first (unxz FILE)"},
    {"BZh"sv, "compressed with bzip2: unpack it first (bunzip2 FILE)"},
    {"\x04\x22\x4d\x18"sv, "compressed with lz4: unpack it first (unlz4 FILE)"},
    {"\x1f\x9d"sv, "compressed with compress: unpack it first (gunzip FILE)"},
    {"7z\xbc\xaf"sv, "a 7z archive: unpack it first"},
    {"Rar!\x1a\x07"sv, "a RAR archive: unpack it first"},
    {"\xd0\xcf\x11\xe0"sv, "an old Excel file: save the sheet as CSV"},
    {"\x93NUMPY"sv,
     "a NumPy array: a train.conf reads it under a name that ends in .npy; for a job file write it "
     "as CSV (numpy.savetxt(FILE, x, delimiter=\",\"))"},
    {"STRATADS"sv, "a file of save_binary, which holds bins: give the data that it was made of"},
    {"\xff\xfe"sv, "text in UTF-16: convert it (iconv -f UTF-16 -t UTF-8 FILE)"},
    {"\xfe\xff"sv, "text in UTF-16: convert it (iconv -f UTF-16 -t UTF-8 FILE)"},
};

std::string_view ZipLook(std::string_view head) {
  const auto holds = [&](std::string_view text) { return head.find(text) != head.npos; };
  if (holds("xl/") || holds("[Content_Types].xml")) {
    return "an Excel file: save the sheet as CSV (pandas: read_excel, then to_csv)";
  }
  if (holds(".npy")) {
    return "an archive of NumPy arrays: save one array (numpy.save) or write it as CSV";
  }
  return "a zip archive: unpack it first (unzip FILE)";
}

// Its mark stands behind the first file's name and numbers.
bool IsTar(std::string_view head) {
  constexpr size_t kMarkBegin = 257;
  return head.size() > kMarkBegin && head.substr(kMarkBegin).starts_with("ustar");
}

// Bytes that no text has.
bool IsControl(char c) { return static_cast<unsigned char>(c) < '\t'; }

// "" for what may be text.
std::string_view BinaryLook(std::string_view head) {
  for (const Look& look : kLooks) {
    if (!head.starts_with(look.begin)) continue;
    // Marks of letters and digits alone may begin a text, too.
    const bool printable = std::ranges::all_of(look.begin, [](char c) { return c >= ' '; });
    if (!printable || std::ranges::any_of(head, IsControl)) return look.look;
  }
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv)) return ZipLook(head);
  if (IsTar(head)) return "a tar archive: unpack it first (tar -xf FILE)";
  if (4 * static_cast<size_t>(std::ranges::count_if(head, IsControl)) > head.size()) {
    return "bytes that are no UTF-8 text (UTF-16, perhaps: iconv -f UTF-16 -t UTF-8 FILE)";
  }
  return {};
}

std::vector<std::string_view> FirstWords(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  while (words.size() < kWordsLookedAt) {
    const size_t begin = line.find_first_not_of(kBlanks);
    if (begin == line.npos) break;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(words.back().size());
  }
  return words;
}

// Whether the word is that many whole numbers, each with a colon after it, and something else.
bool HasNumbersBeforeColons(std::string_view word, int colons) {
  for (; colons > 0; --colons) {
    const size_t colon = word.find(':');
    const std::string_view number = word.substr(0, colon);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (colon == word.npos || number.empty() || !std::ranges::all_of(number, is_digit)) {
      return false;
    }
    word.remove_prefix(colon + 1);
  }
  return !word.empty() && word.find(':') == word.npos;
}

// "1 3:0.5 7:2" by one colon a word, "1 0:3:0.5 1:7:2" by two.
bool IsLabelAndPairs(std::string_view line, int colons) {
  const std::vector<std::string_view> words = FirstWords(line);
  if (words.size() < 2 || words[0].find_first_of(":,;|") != words[0].npos) return false;
  return std::ranges::all_of(words.begin() + 1, words.end(), [&](std::string_view word) {
    return HasNumbersBeforeColons(word, colons);
  });
}

}  // namespace

Status CheckIsText(const File& file, const std::string& path, std::string_view expected) {
  char bytes[kHeadBytes];
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, std::as_writable_bytes(std::span(bytes))));
  return CheckIsText({bytes, read}, path, expected);
}

Status CheckIsText(std::string_view head, const std::string& path, std::string_view expected) {
  const std::string_view look = BinaryLook(head);
  if (look.empty()) return {};
  return Invalid(fmt::format("{}: expected {}, found {}", path, expected, look));
}

std::string ForeignTextLook(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (line.starts_with('{') && (line.find("\":") != line.npos || line.size() == 1)) {
    return "JSON: write it as CSV (pandas: read_json(FILE, lines=True), then to_csv)";
  }
  if (line.starts_with("[{") || line == "[") {
    return "JSON: write it as CSV (pandas: read_json(FILE), then to_csv)";
  }
  if (line.starts_with("<?xml") || line.starts_with("<!DOCTYPE") || line.starts_with("<html")) {
    return "XML or HTML: give the file of rows itself";
  }
  if (line.starts_with("@relation") || line.starts_with("@RELATION")) {
    return "ARFF: write it as CSV";
  }
  if (LooksLikeLibffm(line)) {
    return "libffm (label field:index:value): trees of a train.conf read it as libsvm once the "
           "fields are left out (sed -E 's/ [0-9]+:([0-9]+:)/ \\1/g'); click models of a job file "
           "read it by data.format = \"libffm\"";
  }
  return "";
}

Status WithForeignLook(const Status& status, const File& file, const std::string& path) {
  if (status.code() != StatusCode::kInvalid) return status.Prefixed(path);
  char bytes[kHeadBytes];
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, std::as_writable_bytes(std::span(bytes))));
  return WithForeignLook(status, {bytes, read}, path);
}

Status WithForeignLook(const Status& status, std::string_view head, const std::string& path) {
  if (status.code() != StatusCode::kInvalid) return status.Prefixed(path);
  head = WithoutByteOrderMark(head);
  const std::string look = ForeignTextLook(head.substr(0, head.find('\n')));
  return look.empty() ? status.Prefixed(path)
                      : Invalid(fmt::format("{}: looks like {}", path, look));
}

std::string HiddenLook(std::string_view text) {
  if (text.find(kByteOrderMark) != text.npos) {
    return "a byte order mark (\\xef\\xbb\\xbf) stands inside the file, as where files were "
           "joined: "
           "remove it";
  }
  const size_t end = text.find('\r');
  if (end == text.npos || text.find_first_not_of(" \t\r", end) == text.npos) return "";
  return "lines seem to end with carriage returns alone: convert them (tr '\\r' '\\n' < FILE)";
}

bool LooksLikeLibsvm(std::string_view line) { return IsLabelAndPairs(line, 1); }

bool LooksLikeLibffm(std::string_view line) { return IsLabelAndPairs(line, 2); }

char LikelyDelimiter(std::string_view line, char delimiter, size_t columns,
                     std::span<const std::string> names) {
  // A blank or a colon is too common in texts to be taken for a separator without proof.
  constexpr std::string_view kCandidates = ",;\t| :";
  constexpr size_t kCommon = 4;
  CsvFields fields;
  const bool one_field =
      SplitCsvLine(line, delimiter, true, &fields) == nullptr && fields.fields.size() == 1;
  char best = '\0';
  size_t most = 1;
  for (size_t i = 0; i < kCandidates.size(); ++i) {
    const char candidate = kCandidates[i];
    if (candidate == delimiter || SplitCsvLine(line, candidate, true, &fields) != nullptr) continue;
    const bool has_names =
        !names.empty() && std::ranges::all_of(names, [&](const std::string& name) {
          return std::ranges::find(fields.fields, name) != fields.fields.end();
        });
    if (has_names || (columns > 1 && fields.fields.size() == columns)) return candidate;
    if (one_field && i < kCommon && fields.fields.size() > most) {
      best = candidate;
      most = fields.fields.size();
    }
  }
  return best;
}

}  // namespace strata
