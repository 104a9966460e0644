#include "storage/checkpoint/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/file/npy_header.h"
#include "base/file/output_file.h"
#include "base/little_endian.h"
#include "storage/checkpoint/table_rows.h"

namespace strata {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

// A file that takes its name once it is whole and on stable storage.
class OutFile {
 public:
  static Result<std::unique_ptr<OutFile>> Create(Disk& disk, const std::string& path) {
    STRATA_ASSIGN(auto file, disk.Create(path + ".tmp"));
    return std::unique_ptr<OutFile>(new OutFile(disk, path, std::move(file)));
  }
  ~OutFile() {
    if (file_) static_cast<void>(disk_.Remove(path_ + ".tmp"));
  }

  Status Append(std::span<const std::byte> bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return buffer_.size() >= kBufferBytes ? Flush() : Status::Ok();
  }
  Status Append(std::string_view text) { return Append(std::as_bytes(std::span(text))); }

  Result<std::string> Finish() {
    STRATA_TRY(Flush());
    STRATA_TRY(file_->Sync());
    STRATA_TRY(disk_.Rename(path_ + ".tmp", path_));
    file_.reset();
    return path_;
  }

 private:
  OutFile(Disk& disk, std::string path, std::unique_ptr<File> file)
      : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
  Status Flush() {
    const Status status = file_->Append(buffer_);
    buffer_.clear();
    return status;
  }

  Disk& disk_;
  const std::string path_;
  std::unique_ptr<File> file_;
  std::vector<std::byte> buffer_;
};

// The first `dim` of each row's elements, or those behind them.
Status AppendColumns(OutFile& file, const ScanPage& page, size_t first, size_t count) {
  const size_t rows = page.keys.size();
  const size_t width = rows == 0 ? 0 : page.rows.size() / rows;
  for (size_t i = 0; i < rows; ++i) {
    STRATA_TRY(file.Append(std::as_bytes(std::span(page.rows).subspan(i * width + first, count))));
  }
  return {};
}

Status AppendKeys(OutFile& file, const ScanPage& page) {
  return file.Append(std::as_bytes(std::span(page.keys)));
}

Result<uint64_t> CountRows(const TableRows& rows) {
  uint64_t count = 0;
  STRATA_TRY(rows.Walk([&](const ScanPage& page) {
    count += page.keys.size();
    return Status::Ok();
  }));
  return count;
}

std::string SafetensorsHeader(uint64_t rows, uint64_t dim, uint64_t state) {
  uint64_t offset = 0;
  const auto tensor = [&](std::string_view name, std::string_view type, const std::string& shape,
                          uint64_t bytes) {
    const uint64_t begin = offset;
    offset += bytes;
    return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, type,
                       shape, begin, offset);
  };
  std::string text = R"({"__metadata__":{"writer":"strata"},)";
  text += tensor("keys", "U64", fmt::format("{}", rows), rows * 8) + ",";
  text += tensor("values", "F32", fmt::format("{},{}", rows, dim), rows * dim * 4);
  if (state != 0) {
    text += "," + tensor("state", "F32", fmt::format("{},{}", rows, state), rows * state * 4);
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors begin at a multiple of 8
  std::string header(8, '\0');
  StoreLittle(uint64_t{text.size()}, reinterpret_cast<std::byte*>(header.data()));
  return header + text;
}

Result<std::vector<std::string>> WriteSafetensors(Disk& disk, const TableRows& rows, uint64_t count,
                                                  const std::string& path) {
  const size_t dim = rows.spec().dim;
  const size_t state = SchemaOf(rows.spec()).state_width;
  STRATA_ASSIGN(const auto file, OutFile::Create(disk, path + ".safetensors"));
  STRATA_TRY(file->Append(SafetensorsHeader(count, dim, state)));
  STRATA_TRY(rows.Walk([&](const ScanPage& page) { return AppendKeys(*file, page); }));
  STRATA_TRY(rows.Walk([&](const ScanPage& page) { return AppendColumns(*file, page, 0, dim); }));
  if (state != 0) {
    STRATA_TRY(
        rows.Walk([&](const ScanPage& page) { return AppendColumns(*file, page, dim, state); }));
  }
  STRATA_ASSIGN(std::string name, file->Finish());
  return std::vector<std::string>{std::move(name)};
}

// Keys and values in two files, each behind a header of its own.
Result<std::vector<std::string>> WritePair(Disk& disk, const TableRows& rows,
                                           const std::pair<std::string, std::string>& keys,
                                           const std::pair<std::string, std::string>& values) {
  STRATA_ASSIGN(const auto key_file, OutFile::Create(disk, keys.first));
  STRATA_ASSIGN(const auto value_file, OutFile::Create(disk, values.first));
  STRATA_TRY(key_file->Append(keys.second));
  STRATA_TRY(value_file->Append(values.second));
  const Status walked = rows.Walk([&](const ScanPage& page) -> Status {
    STRATA_TRY(AppendKeys(*key_file, page));
    return AppendColumns(*value_file, page, 0, rows.spec().dim);
  });
  STRATA_TRY(walked);
  STRATA_ASSIGN(std::string key_name, key_file->Finish());
  STRATA_ASSIGN(std::string value_name, value_file->Finish());
  return std::vector<std::string>{std::move(key_name), std::move(value_name)};
}

Result<std::vector<std::string>> WriteNpy(Disk& disk, const TableRows& rows, uint64_t count,
                                          const std::string& path) {
  return WritePair(disk, rows, {path + ".keys.npy", NpyHeaderText("<u8", {count})},
                   {path + ".values.npy", NpyHeaderText("<f4", {count, rows.spec().dim})});
}

Result<std::vector<std::string>> WriteHugeCtr(Disk& disk, const TableRows& rows,
                                              const std::string& path) {
  const std::string folder = path + "_sparse.model";
  STRATA_TRY(disk.MakeFolder(folder));
  STRATA_ASSIGN(auto files,
                WritePair(disk, rows, {folder + "/key", ""}, {folder + "/emb_vector", ""}));
  STRATA_TRY(disk.SyncFolder(folder));
  return files;
}

}  // namespace

Result<ExportFormat> ParseExportFormat(std::string_view name) {
  if (name == "safetensors") return ExportFormat::kSafetensors;
  if (name == "npy") return ExportFormat::kNpy;
  if (name == "hugectr") return ExportFormat::kHugeCtr;
  return Invalid(fmt::format("export format '{}': expected safetensors, npy or hugectr", name));
}

Result<ExportReport> ExportTable(Disk& disk, const std::string& root, uint32_t number,
                                 const std::string& table, ExportFormat format,
                                 const std::string& out) {
  STRATA_ASSIGN(const TableRows rows, TableRows::Open(disk, root, number, table));
  STRATA_TRY(TryOutputFolder(disk, out).Prefixed(out));
  // Headers tell the count before the first row.
  STRATA_ASSIGN(const uint64_t count, CountRows(rows));
  const std::string path = out + "/" + table;
  auto files = format == ExportFormat::kSafetensors ? WriteSafetensors(disk, rows, count, path)
               : format == ExportFormat::kNpy       ? WriteNpy(disk, rows, count, path)
                                                    : WriteHugeCtr(disk, rows, path);
  STRATA_TRY(files.status());
  STRATA_TRY(disk.SyncFolder(out));
  return ExportReport{.rows = count, .dim = rows.spec().dim, .files = std::move(*files)};
}

}  // namespace strata
