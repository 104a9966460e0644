// The seam to the disk. Nothing outside base/ opens a file by itself. RealDisk is POSIX; SimDisk
// (tests/support/sim_disk.h) keeps files in memory and tears, flips, fails and forgets them from a
// seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata {

// An open file. One thread at a time, with two exceptions: any number may call ReadAt together, and
// one may call Sync while another one appends (what Append had returned for when Sync began is
// durable when it ends).
class File {
 public:
  virtual ~File() = default;
  // Reads up to out.size() bytes at `offset`; fewer only at the end of the file.
  virtual Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;
  // A hint: these bytes are read soon. Any thread; does not wait for the disk.
  virtual void WillRead(uint64_t /*offset*/, uint64_t /*bytes*/) const {}
  // An error is final: how much of the bytes was written is unknown. kDiskFull cannot happen within
  // what Preallocate reserved.
  virtual Status Append(std::span<const std::byte> bytes) = 0;
  // Append that may return before it is done. Until FinishAppend has returned, which tells how it
  // ended, the bytes stay as they are and nothing else is called. One at a time.
  virtual Status BeginAppend(std::span<const std::byte> bytes) { return Append(bytes); }
  virtual Status FinishAppend() { return {}; }
  // Writes over bytes that the file has, in a file of OpenToRewrite and in no other. An error is
  // final: what is there from `offset` on is unknown.
  virtual Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Reserves room for a file of `bytes` bytes; its size stays. kDiskFull: there is no such room,
  // and nothing has changed. A file system that cannot reserve says OK and reserves nothing.
  virtual Status Preallocate(uint64_t bytes) = 0;
  // Returns once everything written is on stable storage. An error is final: the file's state is
  // unknown from then on and the caller must not acknowledge anything that depends on it.
  virtual Status Sync() = 0;
  virtual Result<uint64_t> Size() const = 0;
};

// Tells a file or folder from every other that exists at the same time on this machine.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

// Paths are as the caller gives them, relative ones to the working directory. Thread-safe. No space
// and no quota left are kDiskFull everywhere.
class Disk {
 public:
  virtual ~Disk() = default;
  // kNotFound: there is none; kInvalid: it is a folder or a pipe.
  virtual Result<std::unique_ptr<File>> OpenToRead(const std::string& path) = 0;
  // Likewise, for a file that also takes WriteAt and Sync.
  virtual Result<std::unique_ptr<File>> OpenToRewrite(const std::string& path) = 0;
  // Creates the file, or empties it; one that is empty keeps what it has reserved. Only this path's
  // own file is written: a link, a file that has other names, or one that may not be written is
  // replaced by a new file, and what a link leads to stays as it is.
  virtual Result<std::unique_ptr<File>> Create(const std::string& path) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;  // a file, or a folder with nothing in it
  // Gives back what was reserved behind the end of the file.
  virtual Status GiveBackReserve(const std::string& path) = 0;
  // Makes the folder and those above it; one that exists is fine. A crash may lose it: where that
  // matters it is MakeDurableFolder.
  virtual Status MakeFolder(const std::string& path) = 0;
  // The names in a folder, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;
  // Which file or folder is at the path now, links followed. kNotFound: there is none. A disk on
  // which nobody else works need not tell them apart.
  virtual Result<FileId> IdOf(const std::string& /*path*/) { return FileId(); }
  // Whether users who neither own the file nor are of its group may read or change it.
  virtual Result<bool> IsOpenToOthers(const std::string& /*path*/) { return false; }
  // What is free where the folder lies; none: that is not known.
  virtual std::optional<uint64_t> FreeBytes(const std::string& /*folder*/) { return std::nullopt; }
  // Whether Rename can put a file at the path. OK: nothing is there, or a file that may be
  // replaced. kInvalid: a link, folder, device, pipe or socket, or a file that this process has no
  // right to replace. The message does not name the path. Nothing changes.
  virtual Status TryReplace(const std::string& /*path*/) { return {}; }
  // Whether a file that is renamed to `output` takes the place of what `input` names or links to.
  // Neither needs to exist: one name in one folder is one place.
  virtual bool Replaces(const std::string& output, const std::string& input) {
    return output == input;
  }
  // Makes renames and new names in the folder durable.
  virtual Status SyncFolder(const std::string& folder) = 0;
};

Disk& RealDisk();

// From now on files that this process makes have mode 0640 at most, and folders 0750: users of its
// group may read them, and others may not.
void KeepFilesFromOthers();

// Names one run of the kernel: as long as it stays the same, nothing that was written, synced or
// not, has been lost to a crash of the machine.
Result<std::string> BootId();

// Disk::MakeFolder, and what it makes outlives a crash: the folder, those above it, and their
// names.
Status MakeDurableFolder(Disk& disk, const std::string& path);

// The whole file. kRefused when it is larger than `bytes_max` (nothing is read then).
Result<std::string> ReadFile(Disk& disk, const std::string& path, uint64_t bytes_max);
// Checks a file that holds a secret. kRefused: other users may read or change it.
Status CheckClosedToOthers(Disk& disk, const std::string& path);
// ReplaceableFile::Replace (base/file/replaceable_file.h), of a file for which no room is kept.
Status WriteFileAtomically(Disk& disk, const std::string& path, std::string_view content);

}  // namespace strata
