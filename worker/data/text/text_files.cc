#include "worker/data/text/text_files.h"

#include <utility>

#include "base/file/standard_input.h"
#include "base/file/text_file.h"
#include "worker/data/file/file_look.h"
#include "worker/data/file/line_reader.h"

namespace strata {
namespace {

// What the text begins with, and how it is compressed.
Status ReadHead(OpenedText* text) {
  text->head.resize(kHeadBytes);
  const std::span<std::byte> out = std::as_writable_bytes(std::span(text->head));
  STRATA_ASSIGN(size_t read, text->file->ReadAt(0, out));
  text->compression = CompressionOf(std::string_view(text->head).substr(0, read));
  if (text->compression != Compression::kNone) {
    const auto bytes = DecodedBytes::Make(text->compression, text->file.get(), text->size);
    STRATA_ASSIGN(read, bytes->ReadAt(0, out));
  }
  text->head.resize(read);
  return {};
}

}  // namespace

Result<OpenedText> OpenText(Disk& disk, const std::string& path,
                            const std::function<Status()>& check) {
  OpenedText text;
  if (IsStandardInput(path)) {
    text.path = "standard input";
    text.file = OpenStandardInput(check);
    text.size = kUnknownSize;
  } else {
    text.path = path;
    STRATA_ASSIGN(text.file, disk.OpenToRead(path));
    STRATA_ASSIGN(text.size, text.file->Size());
  }
  STRATA_TRY(ReadHead(&text).Prefixed(text.path));
  STRATA_TRY(CheckIsText(text.head, text.path));
  text.rows_begin = text.head.size() - WithoutByteOrderMark(text.head).size();
  if (text.rows_begin == text.head.size()) return Invalid(text.path + ": the file is empty");
  return text;
}

Result<FirstLine> ReadFirstLine(const OpenedText& text,
                                const std::function<bool(std::string_view)>& is_skipped) {
  LineReader lines(LinesOf(text, {0, text.size}, 1 << 16));
  Line line;
  FirstLine first;
  const auto next = [&]() -> Result<bool> {
    Result<bool> read = lines.Next(&line);
    if (!read.ok()) return WithForeignLook(read.status(), text.head, text.path);
    return read;
  };
  while (first.text.empty()) {
    STRATA_ASSIGN(const bool read, next());
    if (!read) return first;
    if (!is_skipped(line.text)) first.text = line.text;
  }
  first.number = lines.lines_read();
  STRATA_ASSIGN(const bool more, next());
  first.end = more ? line.offset : lines.position();
  return first;
}

LineBlocks LinesOf(const OpenedText& text, ByteRange range, size_t block_bytes) {
  if (text.compression != Compression::kNone) {
    return LineBlocks(DecodedBytes::Make(text.compression, text.file.get(), text.size),
                      text.rows_begin, block_bytes);
  }
  return LineBlocks(text.file.get(), {range, text.rows_begin, text.size, block_bytes});
}

}  // namespace strata
