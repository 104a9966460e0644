#include "storage/itemset/item_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/file/npy_header.h"
#include "base/human_text.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are written as they lie; a big-endian host must swap them");

// Says that the folder's files may be replaced. It goes when the manifest has come.
constexpr const char* kUnfinished = "unfinished";
// Rows are counted when all are written: their number has its place from the start.
constexpr size_t kHeaderBytes = 128;
constexpr size_t kPieceBytes = size_t{1} << 20;

std::string PathOf(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}", folder, name);
}

bool Has(Disk& disk, const std::string& path) { return disk.OpenToRead(path).ok(); }

// The digest of what stands behind the header.
Result<format::Digest> DigestOfArray(const File& file, uint64_t begin, uint64_t end) {
  format::Digester digester;
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, end - begin));
  while (begin < end) {
    const auto wanted = std::span(piece).first(std::min<uint64_t>(piece.size(), end - begin));
    STRATA_ASSIGN(const size_t got, file.ReadAt(begin, wanted));
    if (got == 0) return Failed("became shorter meanwhile");
    digester.Add(wanted.first(got));
    begin += got;
  }
  return digester.Get();
}

// What a file of the export has to be.
struct Expected {
  const char* name;
  const char* kind;
  std::vector<uint64_t> shape;
};

std::vector<Expected> FilesOf(const format::ItemExport& manifest) {
  std::vector<Expected> files = {{kExportedTokens, "<u4", {manifest.tokens}},
                                 {kExportedOffsets, "<u8", {manifest.documents + 1}},
                                 {kExportedIds, "<u8", {manifest.documents}}};
  if (!manifest.attributes.empty()) {
    files.push_back({kExportedAttributes, "<i8", {manifest.documents, manifest.attributes.size()}});
  }
  return files;
}

Status CheckArray(Disk& disk, const std::string& path, const Expected& expected,
                  const format::ItemExport::File& written) {
  const Result<std::unique_ptr<File>> file = disk.OpenToRead(path);
  if (!file.ok()) return Corrupt(fmt::format("{}: {}", path, file.status().message()));
  STRATA_ASSIGN(const uint64_t size, (*file)->Size());
  const Result<NpyHeader> header = ReadNpyHeader(**file, path);
  if (!header.ok()) return Corrupt(header.status().message());
  if (size != written.bytes || header->kind != expected.kind || header->shape != expected.shape) {
    return Corrupt(fmt::format(
        "{}: expected {} bytes of an array '{}' {}, as {} says; found {} "
        "bytes, '{}' {}: take another export, or export again",
        path, written.bytes, expected.kind, NpyShapeText(expected.shape), format::kItemExportName,
        size, ShownBytes(header->kind, 8), header->ShapeText()));
  }
  const Result<format::Digest> digest = DigestOfArray(**file, header->begin, size);
  if (!digest.ok()) return digest.status().Prefixed(path);
  if (*digest == written.digest) return {};
  return Corrupt(
      fmt::format("{}: expected checksum {}, as {} says; found {}: it is not as it was "
                  "written; take another export, or export again",
                  path, format::DigestText(written.digest), format::kItemExportName,
                  format::DigestText(*digest)));
}

}  // namespace

// A file that is written from its beginning to its end, and then its header.
class ItemExporter::Array {
 public:
  static Result<std::unique_ptr<Array>> Create(Disk& disk, const std::string& folder,
                                               const Expected& of) {
    auto made = std::make_unique<Array>();
    made->path_ = PathOf(folder, of.name);
    STRATA_ASSIGN(made->file_, disk.Create(made->path_));
    const std::string header = NpyHeaderText(of.kind, of.shape, kHeaderBytes);
    STRATA_TRY(made->file_->Append(std::as_bytes(std::span(header))));
    return made;
  }
  template <typename T>
  void Put(std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  Status Flush() {
    digester_.Add(buffer_);
    bytes_ += buffer_.size();
    const Status appended = file_->Append(buffer_);
    buffer_.clear();
    return appended;
  }
  Result<format::ItemExport::File> Finish(Disk& disk, const Expected& of) {
    STRATA_TRY(Flush());
    file_.reset();
    STRATA_ASSIGN(const auto file, disk.OpenToRewrite(path_));
    const std::string header = NpyHeaderText(of.kind, of.shape, kHeaderBytes);
    STRATA_CHECK(header.size() == kHeaderBytes);
    STRATA_TRY(file->WriteAt(0, std::as_bytes(std::span(header))));
    STRATA_TRY(file->Sync());
    return format::ItemExport::File{
        .name = of.name, .bytes = kHeaderBytes + bytes_, .digest = digester_.Get()};
  }

 private:
  std::string path_;
  std::unique_ptr<File> file_;
  std::vector<std::byte> buffer_;
  format::Digester digester_;
  uint64_t bytes_ = 0;
};

ItemExporter::ItemExporter(Disk& disk, const std::string& folder) : disk_(disk), folder_(folder) {}
ItemExporter::~ItemExporter() = default;

Result<std::unique_ptr<ItemExporter>> ItemExporter::Begin(
    Disk& disk, const std::string& folder, const std::string& collection,
    const std::vector<std::string>& attributes) {
  if (const Status there = MakeDurableFolder(disk, folder); !there.ok()) {
    return Invalid(fmt::format("{}: expected a new or an empty folder; {}: name another one",
                               folder, there.message()));
  }
  STRATA_ASSIGN(const std::vector<std::string> names, disk.List(folder));
  const bool is_unfinished = std::ranges::find(names, kUnfinished) != names.end();
  if (!names.empty() && !is_unfinished) {
    return Refused(
        fmt::format("{}: expected a new or an empty folder, found {} in it: name another "
                    "one, or empty it",
                    folder, ShownBytes(names.front(), 60)));
  }
  std::unique_ptr<ItemExporter> made(new ItemExporter(disk, folder));
  if (!is_unfinished) {
    STRATA_TRY(WriteFileAtomically(disk, PathOf(folder, kUnfinished),
                                   "an export that has not ended; what is here may be replaced\n"));
  }
  Result<std::unique_ptr<FileLock>> lock = FileLock::Take(PathOf(folder, kUnfinished));
  if (!lock.ok()) {
    return lock.status().Prefixed(
        fmt::format("{}: expected no other export to be written there", folder));
  }
  made->lock_ = std::move(*lock);
  // It may have come just before the other one was to go.
  const Status gone = disk.Remove(PathOf(folder, format::kItemExportName));
  if (!gone.ok() && gone.code() != StatusCode::kNotFound) return gone;
  made->manifest_.collection = collection;
  made->manifest_.attributes = attributes;
  for (const Expected& file : FilesOf(made->manifest_)) {
    STRATA_ASSIGN(auto array, Array::Create(disk, folder, file));
    made->arrays_.push_back(std::move(array));
  }
  made->arrays_[1]->Put(std::span<const uint64_t>(&made->manifest_.tokens, 1));
  return made;
}

Status ItemExporter::Add(std::span<const Document> documents) {
  for (const Document& document : documents) {
    STRATA_CHECK(document.attributes.size() == manifest_.attributes.size());
    arrays_[0]->Put(std::span<const Token>(document.tokens));
    manifest_.tokens += document.tokens.size();
    arrays_[1]->Put(std::span<const uint64_t>(&manifest_.tokens, 1));
    arrays_[2]->Put(std::span<const DocumentId>(&document.id, 1));
    if (arrays_.size() > 3) arrays_[3]->Put(std::span<const int64_t>(document.attributes));
  }
  for (const auto& array : arrays_) STRATA_TRY(array->Flush());
  manifest_.documents += documents.size();
  return {};
}

Result<format::ItemExport> ItemExporter::Finish(bool is_one_moment) {
  manifest_.is_one_moment = is_one_moment;
  const std::vector<Expected> files = FilesOf(manifest_);
  for (size_t i = 0; i < files.size(); ++i) {
    STRATA_ASSIGN(auto file, arrays_[i]->Finish(disk_, files[i]));
    manifest_.files.push_back(std::move(file));
  }
  STRATA_TRY(disk_.SyncFolder(folder_));
  STRATA_TRY(WriteFileAtomically(disk_, PathOf(folder_, format::kItemExportName),
                                 format::EncodeItemExport(manifest_)));
  STRATA_TRY(disk_.Remove(PathOf(folder_, kUnfinished)));
  STRATA_TRY(disk_.SyncFolder(folder_));
  return manifest_;
}

bool IsItemExport(Disk& disk, const std::string& folder) {
  return Has(disk, PathOf(folder, format::kItemExportName)) ||
         Has(disk, PathOf(folder, kUnfinished));
}

Result<format::ItemExport> CheckItemExport(Disk& disk, const std::string& folder) {
  if (Has(disk, PathOf(folder, kUnfinished))) {
    return Invalid(
        fmt::format("{}: holds an export that has not ended: write it again, by the same "
                    "command",
                    folder));
  }
  const std::string path = PathOf(folder, format::kItemExportName);
  STRATA_ASSIGN(const std::string text, ReadFile(disk, path, format::kItemExportBytesMax));
  STRATA_ASSIGN(format::ItemExport manifest, format::DecodeItemExport(text, path));
  for (const Expected& expected : FilesOf(manifest)) {
    const auto written =
        std::ranges::find(manifest.files, expected.name, &format::ItemExport::File::name);
    if (written == manifest.files.end()) {
      return Corrupt(fmt::format("{}: expected {} among its files", path, expected.name));
    }
    STRATA_TRY(CheckArray(disk, PathOf(folder, expected.name), expected, *written));
  }
  return manifest;
}

}  // namespace strata
