// ImageStore: images of a collection's segments, and the manifest that says which are in force, in
// a RecordStore:
//
//   manifest            proto/format/item_manifest.h
//   image/NUMBER/PART   proto/format/segment_image.h, in parts of up to 8 MiB
//   live/NUMBER         live bits of a segment with dead documents, proto/format/item_list.h
//   order/NUMBER        an order of tokens, which segments share, likewise
//   putting             keys of images and orders that are, or were last, put before a commit
//
// Images and orders are put first. One commit then changes the manifest and the live bits, and
// removes what is not in force any more; what was put and no manifest names is removed when the
// store is opened for writing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "proto/format/item_manifest.h"
#include "storage/itemset/item_set.h"
#include "storage/rocks/record_store.h"
#include "strata/status.h"

namespace strata {

// One thread at a time.
class ImageStore {
 public:
  // `lineage` and `lane`: of the log beside it.
  ImageStore(RecordStoreOpener open, uint64_t lineage, uint16_t lane);

  struct Loaded {
    format::ItemManifest manifest;  // as a new one where nothing was saved
    std::vector<SegmentState> segments;
  };
  // What was saved last. Changes nothing on disk. kCorrupt names the store, the segment, what was
  // expected and found; kInvalid: of another log, or a newer version.
  Result<Loaded> Load(WorkPool& pool);

  // The state is what is in force when this returns; everything in it is then durable. Any error
  // leaves what was in force, or, if the error came with the commit, either. A later call may
  // succeed.
  Status Save(const ItemSetState& state, uint64_t from, uint64_t covered);

  uint64_t images_written() const { return images_written_; }
  uint64_t bytes_written() const { return bytes_written_; }  // of images

 private:
  using Numbers = std::shared_ptr<const TokenNumbers>;

  Result<format::ItemManifest> ReadManifest(const RecordStore& records) const;
  Status OpenToWrite();
  Status TrySave(const ItemSetState& state, uint64_t from, uint64_t covered);
  Status PutNamed(const std::string& key, std::span<const std::byte> value);
  Result<uint64_t> OrderOf(const Numbers& numbers);
  Result<uint32_t> PutImage(const SegmentState& state, uint64_t order);
  Result<Numbers> LoadOrder(const RecordStore& records, uint64_t order) const;
  Result<SegmentState> LoadSegment(const RecordStore& records,
                                   const format::ItemManifest::Segment& row,
                                   const Numbers& numbers) const;

  const RecordStoreOpener open_;
  const uint64_t lineage_;
  const uint16_t lane_;
  std::unique_ptr<RecordStore> records_;  // null: to be opened
  format::ItemManifest manifest_;         // in force, while there is a store
  std::map<uint64_t, Numbers> orders_;    // that are stored
  std::string putting_;                   // the keys, a line each
  uint64_t images_written_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace strata
