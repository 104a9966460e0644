// RawBatches: batches from one rank's share of files of HugeCTR's raw format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/file/file_parts.h"
#include "worker/data/raw/raw_layout.h"

namespace strata {

// A file of records, and how many there are.
struct RawFile {
  std::string path;
  uint64_t records = 0;
};

// Looks at the sizes of at least one file. kNotFound: no such file. kInvalid: an empty file, one
// that does not end with a whole record, or one that is compressed.
Result<std::vector<RawFile>> LookAtRawFiles(Disk& disk, const std::vector<std::string>& paths,
                                            const RawLayout& layout);

struct RawOptions {
  Share share = {};  // all records by default
  // false: labels are not looked at, and are NaN.
  bool labels_required = true;
  bool label_is_number = false;  // any finite number, not 0 or 1 alone
  // Set: the files, or parts of them, come in another order each epoch.
  std::optional<uint64_t> order_seed = {};
  int threads = 1;  // that read and decode the records of a batch
};

class RawBatches : public BatchSource {
 public:
  // The files come one after another. The disk outlives this. Errors are those of LookAtRawFiles,
  // and kRefused: the system has no more threads.
  static Result<std::unique_ptr<RawBatches>> Open(Disk& disk, const std::vector<std::string>& paths,
                                                  const RawLayout& layout,
                                                  const RawOptions& options);

  Status Rewind(uint64_t epoch) override;
  // kInvalid, with file and byte: a label that is neither 0 nor 1, unless it may be any number, or
  // a number that is not finite. kFailed: the disk's error, or a file that became shorter.
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override;

  // Of all shares together.
  uint64_t records_of_all() const;

  // Reads the rest of the share: the sum over the records of a hash of each and its place.
  Result<uint64_t> HashOfRest();

 private:
  // Records that lie one after another in a file, and then in a block.
  struct Piece {
    std::shared_ptr<const File> file;
    size_t number = 0;  // of the file
    uint64_t offset = 0;
    size_t records = 0;
    size_t first_sample = 0;  // of the batch
    std::vector<std::byte> block = {};
    Status status = {};
  };

  RawBatches(Disk& disk, std::vector<RawFile> files, RawLayout layout, const RawOptions& options,
             std::unique_ptr<WorkPool> threads);

  // Takes the next records of the share, records_max at most and no more than a block holds. False:
  // there are none.
  Result<bool> Take(size_t records_max, Piece* piece);
  Status Read(Piece* piece) const;
  Status DecodeLabels(const Piece& piece, Batch* batch) const;
  Status DecodeDense(const Piece& piece, Batch* batch) const;
  void DecodeKeys(const Piece& piece, Batch* batch) const;
  Status Wrong(const Piece& piece, size_t record, size_t word, const std::string& what) const;
  // Gives the batch room for so many samples. What it holds is overwritten, so nothing is cleared.
  void Shape(size_t samples, Batch* batch) const;
  // The word of the piece's record.
  const std::byte* At(const Piece& piece, size_t record, size_t word) const {
    return piece.block.data() + record * record_bytes_ + word * sizeof(uint32_t);
  }

  Disk* disk_;
  std::vector<RawFile> files_;
  RawLayout layout_;
  RawOptions options_;
  size_t record_bytes_;
  std::vector<uint32_t> key_slots_;   // the slot of each key of a record
  std::vector<uint32_t> slot_ends_;   // where each slot's keys end in a record
  std::vector<float> small_logs_;     // of kInt, from 0 on
  std::vector<FilePart> parts_;       // of the share, in records
  size_t part_ = 0;                   // that is read, or comes next
  uint64_t done_ = 0;                 // records of the part that have been read
  uint64_t done_before_ = 0;          // and of the parts before
  uint64_t records_ = 0;              // of the share
  std::shared_ptr<const File> file_;  // of the part, once something is read of it
  std::vector<Piece> pieces_;         // of a batch; kept for their memory
  std::unique_ptr<WorkPool> threads_;
};

}  // namespace strata
