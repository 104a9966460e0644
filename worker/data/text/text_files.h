// Files of text: what is known of one before its rows are read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/file/compression.h"
#include "worker/data/file/line_blocks.h"

namespace strata {

// How a reader of rows goes over text files.
struct TextOptions {
  Share share = {};  // all of the files by default
  // false: labels, weights and queries are not read and may be absent; labels are NaN, weights 1.
  bool labels_required = true;
  // A row that cannot be read comes as a row of missing values with `bad` set, instead of being
  // left out.
  bool keep_bad_rows = false;
  bool log_bad_lines = true;     // warnings for the first ten, once a pass is through
  size_t block_bytes = 1 << 18;  // read from the disk at a time
  // Asked while standard input gives nothing, on any thread. An error ends the wait.
  std::function<Status()> check = {};
  // Set: the files, or parts of them, come in another order each epoch.
  std::optional<uint64_t> order_seed = {};
  int threads = 1;  // at least 1, which parse; of sources of batches alone
};

// A file of text, and where its rows begin.
struct OpenedText {
  std::unique_ptr<File> file;  // null: it is opened again when its rows are read
  std::string path;
  uint64_t size = 0;  // of the file, in bytes; kUnknownSize of standard input
  Compression compression = Compression::kNone;
  std::string head;         // the text's first bytes, up to kHeadBytes
  uint64_t rows_begin = 0;  // first byte behind the byte order mark and what else is no row
  uint64_t first_line = 1;  // the line number of what begins there
};

// The path "-" is standard input, and `check` what OpenStandardInput asks. kNotFound: no such file.
// kInvalid: an empty file, one that is no text, or one that cannot be decoded.
Result<OpenedText> OpenText(Disk& disk, const std::string& path,
                            const std::function<Status()>& check);

// The first line that is not to be skipped, and where the one after it begins.
struct FirstLine {
  std::string text;  // "": there is none
  uint64_t end = 0;  // in bytes from the text's beginning
  uint64_t number = 0;
};

// kInvalid: the line is too long, or the file begins like JSON or markup.
Result<FirstLine> ReadFirstLine(const OpenedText& text,
                                const std::function<bool(std::string_view)>& is_skipped);

// The lines of a range of the text, or of all of one that is compressed. The text's file is open
// and outlives them.
LineBlocks LinesOf(const OpenedText& text, ByteRange range, size_t block_bytes);

}  // namespace strata
