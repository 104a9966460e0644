#include "worker/data/raw/raw_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "worker/data/file/compression.h"

namespace strata {
namespace {

constexpr size_t kBlockBytes = 256 << 10;
constexpr int32_t kSmallNumbers = 4096;  // whose logarithms are kept: most numbers are small

// What the model sees of a dense number of kInt.
float LogOf(int32_t x) { return std::log(static_cast<float>(x) + 1); }

template <typename T>
T Load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

Status CheckSize(const std::string& path, uint64_t size, const RawLayout& layout) {
  if (size == 0) return Invalid(path + ": the file is empty: expected at least one record");
  const uint64_t rest = size % layout.record_bytes();
  if (rest == 0) return {};
  return Invalid(fmt::format(
      "{}: has {} bytes, so that {} are left behind the last record, from byte {} on: expected "
      "a multiple of {}, the bytes of {}: give the whole file, or its layout ({})",
      path, size, rest, size - rest, layout.record_bytes(), layout.Text(), layout.settings));
}

Result<RawFile> LookAtFile(Disk& disk, const std::string& path, const RawLayout& layout) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  std::array<char, 4> head = {};
  STRATA_ASSIGN(const size_t read, file->ReadAt(0, std::as_writable_bytes(std::span(head))));
  // No label begins like that.
  if (CompressionOf({head.data(), read}) != Compression::kNone) {
    return Invalid(path + ": is compressed, and records are read as they are: unpack it first");
  }
  STRATA_TRY(CheckSize(path, size, layout));
  return RawFile{.path = path, .records = size / layout.record_bytes()};
}

}  // namespace

Result<std::vector<RawFile>> LookAtRawFiles(Disk& disk, const std::vector<std::string>& paths,
                                            const RawLayout& layout) {
  std::vector<RawFile> files;
  for (const std::string& path : paths) {
    STRATA_ASSIGN(RawFile file, LookAtFile(disk, path, layout));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::unique_ptr<RawBatches>> RawBatches::Open(Disk& disk,
                                                     const std::vector<std::string>& paths,
                                                     const RawLayout& layout,
                                                     const RawOptions& options) {
  STRATA_ASSIGN(std::vector<RawFile> files, LookAtRawFiles(disk, paths, layout));
  STRATA_ASSIGN(auto threads, WorkPool::Start("decode", options.threads - 1));
  return std::unique_ptr<RawBatches>(
      new RawBatches(disk, std::move(files), layout, options, std::move(threads)));
}

RawBatches::RawBatches(Disk& disk, std::vector<RawFile> files, RawLayout layout,
                       const RawOptions& options, std::unique_ptr<WorkPool> threads)
    : disk_(&disk),
      files_(std::move(files)),
      layout_(std::move(layout)),
      options_(options),
      record_bytes_(layout_.record_bytes()),
      threads_(std::move(threads)) {
  std::vector<FileExtent> extents;
  for (const RawFile& file : files_) extents.push_back({.bytes = file.records});
  parts_ = PartsOf(extents, options.share);
  for (const FilePart& part : parts_) records_ += part.bytes();
  for (size_t slot = 0; slot < layout_.slot_keys.size(); ++slot) {
    key_slots_.insert(key_slots_.end(), layout_.slot_keys[slot], static_cast<uint32_t>(slot));
    slot_ends_.push_back(static_cast<uint32_t>(key_slots_.size()));
  }
  if (layout_.dense == RawNumber::kInt) {
    for (int32_t x = 0; x < kSmallNumbers; ++x) small_logs_.push_back(LogOf(x));
  }
}

Status RawBatches::Rewind(uint64_t epoch) {
  if (options_.order_seed.has_value()) {
    parts_ = InOrderOfEpoch(std::move(parts_), *options_.order_seed, epoch);
  }
  part_ = 0;
  done_ = 0;
  done_before_ = 0;
  file_.reset();
  return {};
}

double RawBatches::Progress() const {
  if (records_ == 0) return 1;
  return static_cast<double>(done_before_ + done_) / static_cast<double>(records_);
}

Status RawBatches::Next(size_t samples_max, Batch* batch) {
  if (samples_max > Batch::kKeysMax / layout_.keys()) {
    return Invalid(
        fmt::format("{} samples of {} keys each have more than {} keys, and a batch at most so "
                    "many: lower train.batch_size",
                    samples_max, layout_.keys(), Batch::kKeysMax));
  }
  size_t count = 0;
  size_t samples = 0;
  while (samples < samples_max) {
    if (count == pieces_.size()) pieces_.emplace_back();
    Piece& piece = pieces_[count];
    STRATA_ASSIGN(const bool is_one, Take(samples_max - samples, &piece));
    if (!is_one) break;
    piece.first_sample = samples;
    samples += piece.records;
    ++count;
  }
  Shape(samples, batch);
  threads_->Run(count, [&](size_t n) {
    Piece& piece = pieces_[n];
    piece.status = Read(&piece);
    if (piece.status.ok()) piece.status = DecodeLabels(piece, batch);
    if (piece.status.ok()) piece.status = DecodeDense(piece, batch);
    if (piece.status.ok()) DecodeKeys(piece, batch);
  });
  for (size_t n = 0; n < count; ++n) STRATA_TRY(pieces_[n].status);
  return {};
}

void RawBatches::Shape(size_t samples, Batch* batch) const {
  batch->samples = samples;
  batch->slots = layout_.slot_keys.size();
  batch->dense_width = layout_.dense_width;
  batch->offsets.resize(samples * batch->slots + 1);
  batch->offsets[0] = 0;
  batch->keys.resize(samples * key_slots_.size());
  batch->key_weights.clear();
  batch->dense.resize(samples * batch->dense_width);
  batch->labels.resize(samples);
  batch->weights.assign(samples, 1);
  batch->groups.clear();
  batch->bad.clear();
}

Result<bool> RawBatches::Take(size_t records_max, Piece* piece) {
  if (part_ < parts_.size() && done_ == parts_[part_].bytes()) {
    done_before_ += done_;
    done_ = 0;
    ++part_;
    file_.reset();
  }
  if (part_ == parts_.size()) return false;
  const FilePart& part = parts_[part_];
  if (file_ == nullptr) {
    STRATA_ASSIGN(file_, disk_->OpenToRead(files_[part.file].path));
  }
  const size_t block_records = std::max<size_t>(1, kBlockBytes / record_bytes_);
  piece->file = file_;
  piece->number = part.file;
  piece->offset = (part.range.begin + done_) * record_bytes_;
  piece->records =
      std::min({records_max, block_records, static_cast<size_t>(part.bytes() - done_)});
  done_ += piece->records;
  return true;
}

Status RawBatches::Read(Piece* piece) const {
  const RawFile& file = files_[piece->number];
  const size_t bytes = piece->records * record_bytes_;
  piece->block.resize(bytes);
  const Result<size_t> read = piece->file->ReadAt(piece->offset, piece->block);
  if (!read.ok()) return read.status().Prefixed(file.path);
  if (*read == bytes) return {};
  return Failed(fmt::format(
      "{}: the file ended at byte {}, but had {} records of {} bytes when it was opened: do not "
      "change it while a job reads it",
      file.path, piece->offset + *read, file.records, record_bytes_));
}

Status RawBatches::DecodeLabels(const Piece& piece, Batch* batch) const {
  float* const labels = batch->labels.data() + piece.first_sample;
  if (!options_.labels_required) {
    std::fill_n(labels, piece.records, std::numeric_limits<float>::quiet_NaN());
    return {};
  }
  const bool is_int = layout_.label == RawNumber::kInt;
  for (size_t i = 0; i < piece.records; ++i) {
    const std::byte* const word = At(piece, i, 0);
    labels[i] = is_int ? static_cast<float>(Load<int32_t>(word)) : Load<float>(word);
    if (labels[i] == 0 || labels[i] == 1) continue;
    if (options_.label_is_number) {
      if (std::isfinite(labels[i])) continue;
      return Wrong(piece, i, 0, fmt::format("expected a finite label, found {}", labels[i]));
    }
    return Wrong(
        piece, i, 0,
        is_int ? fmt::format("expected a label that is the whole number 0 or 1, found {}",
                             Load<int32_t>(word))
               : fmt::format("expected a label that is the float 0 or 1, found {}", labels[i]));
  }
  return {};
}

Status RawBatches::DecodeDense(const Piece& piece, Batch* batch) const {
  const size_t width = layout_.dense_width;
  for (size_t i = 0; i < piece.records; ++i) {
    float* const out = batch->dense.data() + (piece.first_sample + i) * width;
    if (layout_.dense == RawNumber::kFloat) {
      if (width > 0) std::memcpy(out, At(piece, i, 1), width * sizeof(float));
    } else {
      for (size_t d = 0; d < width; ++d) {
        const auto x = Load<int32_t>(At(piece, i, 1 + d));
        // A negative one is none of the small ones.
        const auto place = static_cast<uint32_t>(x);
        out[d] = place < small_logs_.size() ? small_logs_[place] : LogOf(x);
      }
    }
    for (size_t d = 0; d < width; ++d) {
      if (std::isfinite(out[d])) continue;
      return Wrong(piece, i, 1 + d,
                   layout_.dense == RawNumber::kFloat
                       ? fmt::format("expected a finite float as number {} of {}, found {}", d + 1,
                                     width, out[d])
                       : fmt::format("expected a whole number of at least 0 as number {} of {}, "
                                     "whose log(x + 1) the model sees, found {}",
                                     d + 1, width, Load<int32_t>(At(piece, i, 1 + d))));
    }
  }
  return {};
}

void RawBatches::DecodeKeys(const Piece& piece, Batch* batch) const {
  const size_t keys = key_slots_.size();
  const size_t slots = slot_ends_.size();
  for (size_t i = 0; i < piece.records; ++i) {
    const size_t sample = piece.first_sample + i;
    const std::byte* const words = At(piece, i, 1 + layout_.dense_width);
    Key* const key = batch->keys.data() + sample * keys;
    for (size_t k = 0; k < keys; ++k) {
      key[k] = RawKey(key_slots_[k], Load<uint32_t>(words + k * sizeof(uint32_t)));
    }
    uint32_t* const offset = batch->offsets.data() + 1 + sample * slots;
    const auto begin = static_cast<uint32_t>(sample * keys);
    for (size_t s = 0; s < slots; ++s) offset[s] = begin + slot_ends_[s];
  }
}

Status RawBatches::Wrong(const Piece& piece, size_t record, size_t word,
                         const std::string& what) const {
  return Invalid(fmt::format(
      "{}: byte {}: {}; records of {} bytes have {}: correct the file, or its layout ({})",
      files_[piece.number].path, piece.offset + record * record_bytes_ + word * sizeof(uint32_t),
      what, record_bytes_, layout_.Text(), layout_.settings));
}

uint64_t RawBatches::records_of_all() const {
  uint64_t records = 0;
  for (const RawFile& file : files_) records += file.records;
  return records;
}

Result<uint64_t> RawBatches::HashOfRest() {
  uint64_t hash = 0;
  Piece piece;
  while (true) {
    STRATA_ASSIGN(const bool is_one, Take(SIZE_MAX, &piece));
    if (!is_one) return hash;
    STRATA_TRY(Read(&piece));
    for (size_t i = 0; i < piece.records; ++i) {
      const uint64_t offset = piece.offset + i * record_bytes_;
      const auto* bytes = reinterpret_cast<const char*>(At(piece, i, 0));
      hash += Hash64({bytes, record_bytes_}, Mix64(PlaceId(piece.number, offset)));
    }
  }
}

}  // namespace strata
