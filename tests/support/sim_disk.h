// The simulated disk: files in memory, with faults from a seed. It is harsher than a real one where
// POSIX allows it: a new or renamed file is in its folder for good only once the folder is synced,
// and so is a new folder in the one above it, and a crash may keep any part of what was not, holes
// included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/random.h"
#include "base/thread/mutex.h"

namespace strata {

struct SimDiskOptions {
  uint64_t seed = 1;
  uint64_t bytes_max = UINT64_MAX;  // capacity: what does not fit is an error after a part of it
  double read_flip = 0;             // probability that a read comes with one bit flipped
};

// Thread-safe. Outlives its files. Only files are renamed.
// There are no links, and every file has one name.
class SimDisk : public Disk {
 public:
  explicit SimDisk(const SimDiskOptions& options = {});
  ~SimDisk() override;

  Result<std::unique_ptr<File>> OpenToRead(const std::string& path) override;
  Result<std::unique_ptr<File>> OpenToRewrite(const std::string& path) override;
  Result<std::unique_ptr<File>> Create(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status GiveBackReserve(const std::string& path) override;
  Status MakeFolder(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  std::optional<uint64_t> FreeBytes(const std::string& folder) override;
  Status TryReplace(const std::string& path) override;
  Status SyncFolder(const std::string& folder) override;

  // The n-th append or rewriting (1: the next) of any file writes a part of its bytes and fails. 0:
  // never.
  void FailAppend(uint64_t n);
  // The n-th sync of a file or folder fails. As after a real fsync that failed, the bytes that were
  // not synced are still read, but no later sync makes them durable; the open file takes no more.
  void FailSync(uint64_t n);
  void SetCapacity(uint64_t bytes_max);
  void SetReadFlip(double probability);

  // The machine loses power. Every file keeps what was synced and, by chance, none, a part (perhaps
  // with zeros behind it), all but some sectors of 512 bytes, or all of what was not; of bytes that
  // were written over, sectors are old or new. Changes of names that were not synced survive up to
  // some point in their order. Files open before fail from now on.
  // What lies in a folder that is lost is lost with it.
  void Crash();

  uint64_t bytes_used() const;  // of the files that have a name, with what they reserve

 private:
  struct Node;
  class SimFile;
  enum class Access : uint8_t { kRead, kAppend, kRewrite };
  // A change of a folder's names: `removed` goes, `added` now means `node`, or is a folder if that
  // is null. Either may be empty.
  struct NameChange {
    std::string removed;
    std::string added;
    std::shared_ptr<Node> node;
  };
  // Files by name, and folders.
  struct Names {
    std::map<std::string, std::shared_ptr<Node>> files;
    std::set<std::string> folders = {".", "/"};
  };

  static void Apply(const NameChange& change, Names* names);
  static void DropUnreachable(Names* names);
  void Change(NameChange change) STRATA_REQUIRES(mutex_);
  uint64_t BytesUsed() const STRATA_REQUIRES(mutex_);
  void CrashNode(Node* node) STRATA_REQUIRES(mutex_);
  Result<std::unique_ptr<File>> Open(const std::string& path, Access access);
  void WriteSomeSectors(Node* node, size_t end) STRATA_REQUIRES(mutex_);
  void LoseSectors(std::span<std::byte> unsynced, size_t offset) STRATA_REQUIRES(mutex_);
  Status AppendTo(Node* node, const std::string& path, std::span<const std::byte> bytes)
      STRATA_REQUIRES(mutex_);
  Status WriteOver(Node* node, const std::string& path, uint64_t offset,
                   std::span<const std::byte> bytes) STRATA_REQUIRES(mutex_);
  Status Reserve(Node* node, const std::string& path, uint64_t bytes) STRATA_REQUIRES(mutex_);
  Status SyncNode(Node* node, const std::string& path) STRATA_REQUIRES(mutex_);
  bool FaultNow(uint64_t* countdown) STRATA_REQUIRES(mutex_);

  mutable Mutex mutex_;
  SimDiskOptions options_ STRATA_GUARDED_BY(mutex_);
  Random random_ STRATA_GUARDED_BY(mutex_);
  uint64_t append_fault_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t sync_fault_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t crashes_ STRATA_GUARDED_BY(mutex_) = 0;
  Names names_ STRATA_GUARDED_BY(mutex_);    // as programs see them
  Names durable_ STRATA_GUARDED_BY(mutex_);  // as they would be after a crash, before `pending_`
  std::vector<NameChange> pending_ STRATA_GUARDED_BY(mutex_);  // not synced yet, in order
};

}  // namespace strata
