#include "tests/support/sim_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace strata {
namespace {

constexpr size_t kSectorBytes = 512;  // what a disk writes whole or not at all

std::string Normal(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal.empty() ? "." : normal;
}

// The folder that a normal path lies in.
std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status NoSuchFile(std::string_view action, const std::string& path) {
  return NotFound(fmt::format("cannot {} {}: No such file or directory", action, path));
}

}  // namespace

// A file's bytes, whatever its names. Under the disk's mutex.
struct SimDisk::Node {
  std::vector<std::byte> bytes;
  std::vector<std::byte> synced;  // what the last sync made durable
  // What the next sync makes durable: bytes from begin to end. A sync that fails forgets them: they
  // are read, and no later one knows of them.
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  std::vector<Range> dirty;
  bool emptied = false;   // since then: `synced` is no longer how `bytes` begins
  uint64_t reserved = 0;  // the size up to which appends find room

  void Touch(size_t begin, size_t end) {
    if (!dirty.empty() && dirty.back().end == begin) {
      dirty.back().end = end;
    } else {
      dirty.push_back({begin, end});
    }
  }
};

class SimDisk::SimFile : public File {
 public:
  SimFile(SimDisk* disk, std::shared_ptr<Node> node, std::string path, Access access)
      : disk_(disk),
        node_(std::move(node)),
        path_(std::move(path)),
        access_(access),
        opened_at_(disk->crashes_) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    const MutexLock lock(disk_->mutex_);
    STRATA_TRY(CheckAlive());
    if (offset >= node_->bytes.size() || out.empty()) return size_t{0};
    const size_t count =
        static_cast<size_t>(std::min<uint64_t>(out.size(), node_->bytes.size() - offset));
    std::memcpy(out.data(), node_->bytes.data() + offset, count);
    if (disk_->options_.read_flip > 0 && disk_->random_.Chance(disk_->options_.read_flip)) {
      const uint64_t bit = disk_->random_.Below(count * 8);
      out[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    }
    return count;
  }

  Status Append(std::span<const std::byte> bytes) override {
    const MutexLock lock(disk_->mutex_);
    STRATA_TRY(CheckAlive());
    STRATA_TRY(Check(Access::kAppend, "write"));
    STRATA_TRY(broken_);
    return broken_ = disk_->AppendTo(node_.get(), path_, bytes);
  }

  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    const MutexLock lock(disk_->mutex_);
    STRATA_TRY(CheckAlive());
    STRATA_TRY(Check(Access::kRewrite, "write over"));
    STRATA_TRY(broken_);
    if (offset > node_->bytes.size() || bytes.size() > node_->bytes.size() - offset) {
      return Failed(fmt::format("cannot write behind the end of {}: Invalid argument", path_));
    }
    return broken_ = disk_->WriteOver(node_.get(), path_, offset, bytes);
  }

  Status Preallocate(uint64_t bytes) override {
    const MutexLock lock(disk_->mutex_);
    STRATA_TRY(CheckAlive());
    STRATA_TRY(Check(Access::kAppend, "reserve bytes for"));
    STRATA_TRY(broken_);
    return disk_->Reserve(node_.get(), path_, bytes);
  }

  Status Sync() override {
    const MutexLock lock(disk_->mutex_);
    STRATA_TRY(CheckAlive());
    STRATA_TRY(broken_);
    return broken_ = disk_->SyncNode(node_.get(), path_);
  }

  Result<uint64_t> Size() const override {
    const MutexLock lock(disk_->mutex_);
    STRATA_TRY(CheckAlive());
    return static_cast<uint64_t>(node_->bytes.size());
  }

 private:
  Status CheckAlive() const STRATA_REQUIRES(disk_->mutex_) {
    if (opened_at_ == disk_->crashes_) return Status::Ok();
    return Failed(fmt::format("{} was open when the disk crashed", path_));
  }

  Status Check(Access wanted, std::string_view action) const {
    if (access_ == wanted) return Status::Ok();
    return Failed(fmt::format("cannot {} {}: Bad file descriptor", action, path_));
  }

  SimDisk* const disk_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const Access access_;
  const uint64_t opened_at_;
  // The first failed append or sync; final.
  Status broken_ STRATA_GUARDED_BY(disk_->mutex_);
};

SimDisk::SimDisk(const SimDiskOptions& options) : options_(options), random_(options.seed) {}
SimDisk::~SimDisk() = default;

Result<std::unique_ptr<File>> SimDisk::OpenToRead(const std::string& path) {
  return Open(path, Access::kRead);
}

Result<std::unique_ptr<File>> SimDisk::OpenToRewrite(const std::string& path) {
  return Open(path, Access::kRewrite);
}

Result<std::unique_ptr<File>> SimDisk::Open(const std::string& path, Access access) {
  const MutexLock lock(mutex_);
  const std::string name = Normal(path);
  if (names_.folders.contains(name)) {
    return Invalid(fmt::format("cannot open {}: is a folder; expected a file", path));
  }
  const auto it = names_.files.find(name);
  if (it == names_.files.end()) return NoSuchFile("open", path);
  return std::unique_ptr<File>(std::make_unique<SimFile>(this, it->second, path, access));
}

Result<std::unique_ptr<File>> SimDisk::Create(const std::string& path) {
  const MutexLock lock(mutex_);
  const std::string name = Normal(path);
  if (names_.folders.contains(name))
    return Failed(fmt::format("cannot create {}: Is a directory", path));
  if (!names_.folders.contains(FolderOf(name))) return NoSuchFile("create", path);
  std::shared_ptr<Node>& node = names_.files[name];
  if (node == nullptr) {
    node = std::make_shared<Node>();
    Change({"", name, node});
  } else if (!node->bytes.empty()) {
    node->bytes.clear();  // the old bytes stay in `synced` until the next sync
    node->emptied = true;
    node->dirty.clear();
    node->reserved = 0;
  }
  return std::unique_ptr<File>(std::make_unique<SimFile>(this, node, path, Access::kAppend));
}

Status SimDisk::Rename(const std::string& from, const std::string& to) {
  const MutexLock lock(mutex_);
  const std::string source = Normal(from);
  const std::string target = Normal(to);
  const std::string what = fmt::format("{} to {}", from, to);
  const auto it = names_.files.find(source);
  if (it == names_.files.end() || !names_.folders.contains(FolderOf(target)))
    return NoSuchFile("rename", what);
  if (names_.folders.contains(target))
    return Failed(fmt::format("cannot rename {}: Is a directory", what));
  if (source != target) Change({source, target, it->second});
  return Status::Ok();
}

Status SimDisk::TryReplace(const std::string& path) {
  const MutexLock lock(mutex_);
  if (!names_.folders.contains(Normal(path))) return Status::Ok();
  return Invalid("is a folder; expected a file");
}

Status SimDisk::Remove(const std::string& path) {
  const MutexLock lock(mutex_);
  const std::string name = Normal(path);
  if (names_.folders.contains(name)) {
    const auto is_in = [&](const std::string& other) {
      return other != name && FolderOf(other) == name;
    };
    if (std::ranges::any_of(names_.files, [&](const auto& file) { return is_in(file.first); }) ||
        std::ranges::any_of(names_.folders, is_in)) {
      return Failed(fmt::format("cannot remove {}: Directory not empty", path));
    }
    Change({name, "", nullptr});
    return Status::Ok();
  }
  if (!names_.files.contains(name)) return NoSuchFile("remove", path);
  Change({name, "", nullptr});
  return Status::Ok();
}

Status SimDisk::GiveBackReserve(const std::string& path) {
  const MutexLock lock(mutex_);
  const auto it = names_.files.find(Normal(path));
  if (it == names_.files.end()) return NoSuchFile("open", path);
  it->second->reserved = 0;
  return Status::Ok();
}

Status SimDisk::MakeFolder(const std::string& path) {
  const MutexLock lock(mutex_);
  const std::string folder = Normal(path);
  std::vector<std::string> wanted;
  for (std::string above = folder; !names_.folders.contains(above); above = FolderOf(above)) {
    if (names_.files.contains(above)) {
      return Failed(fmt::format("cannot make folder {}: Not a directory", path));
    }
    wanted.push_back(above);
  }
  for (auto made = wanted.rbegin(); made != wanted.rend(); ++made) Change({"", *made, nullptr});
  return Status::Ok();
}

Result<std::vector<std::string>> SimDisk::List(const std::string& folder) {
  const MutexLock lock(mutex_);
  const std::string where = Normal(folder);
  if (names_.files.contains(where))
    return Failed(fmt::format("cannot list {}: Not a directory", folder));
  if (!names_.folders.contains(where)) return NoSuchFile("list", folder);
  std::vector<std::string> names;
  const auto add = [&](const std::string& path) {
    if (path != where && FolderOf(path) == where && path != "." && path != "/") {
      names.push_back(std::filesystem::path(path).filename().string());
    }
  };
  for (const auto& [path, node] : names_.files) add(path);
  for (const std::string& path : names_.folders) add(path);
  std::ranges::sort(names);
  return names;
}

Status SimDisk::SyncFolder(const std::string& folder) {
  const MutexLock lock(mutex_);
  const std::string where = Normal(folder);
  if (!names_.folders.contains(where)) return NoSuchFile("open folder", folder);
  if (FaultNow(&sync_fault_)) {
    return Failed(fmt::format("cannot sync folder {}: Input/output error", folder));
  }
  std::vector<NameChange> others;
  for (NameChange& change : pending_) {
    const bool here = (!change.removed.empty() && FolderOf(change.removed) == where) ||
                      (!change.added.empty() && FolderOf(change.added) == where);
    if (here) {
      Apply(change, &durable_);
    } else {
      others.push_back(std::move(change));
    }
  }
  pending_ = std::move(others);
  return Status::Ok();
}

void SimDisk::FailAppend(uint64_t n) {
  const MutexLock lock(mutex_);
  append_fault_ = n;
}

void SimDisk::FailSync(uint64_t n) {
  const MutexLock lock(mutex_);
  sync_fault_ = n;
}

void SimDisk::SetCapacity(uint64_t bytes_max) {
  const MutexLock lock(mutex_);
  options_.bytes_max = bytes_max;
}

void SimDisk::SetReadFlip(double probability) {
  const MutexLock lock(mutex_);
  options_.read_flip = probability;
}

void SimDisk::Crash() {
  const MutexLock lock(mutex_);
  ++crashes_;
  const uint64_t kept = random_.Below(pending_.size() + 1);
  for (uint64_t i = 0; i < kept; ++i) Apply(pending_[i], &durable_);
  pending_.clear();
  DropUnreachable(&durable_);
  names_ = durable_;
  for (auto& [path, node] : names_.files) CrashNode(node.get());
}

void SimDisk::DropUnreachable(Names* names) {
  const auto is_lost = [&](const std::string& path) {
    for (std::string above = FolderOf(path); above != "." && above != "/";
         above = FolderOf(above)) {
      if (!names->folders.contains(above)) return true;
    }
    return false;
  };
  std::erase_if(names->folders, is_lost);
  std::erase_if(names->files, [&](const auto& file) { return is_lost(file.first); });
}

std::optional<uint64_t> SimDisk::FreeBytes(const std::string&) {
  const MutexLock lock(mutex_);
  return options_.bytes_max - std::min(options_.bytes_max, BytesUsed());
}

uint64_t SimDisk::bytes_used() const {
  const MutexLock lock(mutex_);
  return BytesUsed();
}

void SimDisk::Apply(const NameChange& change, Names* names) {
  if (!change.removed.empty()) {
    names->files.erase(change.removed);
    names->folders.erase(change.removed);
  }
  if (change.added.empty()) return;
  if (change.node == nullptr) {
    names->folders.insert(change.added);
  } else {
    names->files[change.added] = change.node;
  }
}

void SimDisk::Change(NameChange change) {
  Apply(change, &names_);
  pending_.push_back(std::move(change));
}

uint64_t SimDisk::BytesUsed() const {
  uint64_t bytes = 0;
  for (const auto& [path, node] : names_.files)
    bytes += std::max<uint64_t>(node->bytes.size(), node->reserved);
  return bytes;
}

void SimDisk::CrashNode(Node* node) {
  const size_t safe = node->emptied ? 0 : node->synced.size();
  const size_t tail = node->bytes.size() - safe;
  const uint64_t fate = random_.Below(5);
  if (fate != 0) WriteSomeSectors(node, safe);
  std::copy_n(node->synced.begin(), safe, node->bytes.begin());
  if (fate == 0) {
    node->bytes = node->synced;
  } else if (fate < 3) {
    const size_t written = safe + static_cast<size_t>(random_.Below(tail + 1));
    // Either the file ends there, or its new length was written and the blocks were not.
    if (fate == 1) node->bytes.resize(written);
    std::fill(node->bytes.begin() + static_cast<std::ptrdiff_t>(written), node->bytes.end(),
              std::byte{0});
  } else if (fate == 3) {
    LoseSectors(std::span(node->bytes).subspan(safe), safe);
  }
  node->emptied = false;
  node->dirty.clear();
  node->synced = node->bytes;
}

// Of what was written over in the first `end` bytes, the sectors that the disk got to.
void SimDisk::WriteSomeSectors(Node* node, size_t end) {
  for (const Node::Range& range : node->dirty) {
    const double written = range.begin < end ? random_.Uniform() : 0;
    for (size_t at = range.begin; at < std::min(range.end, end);) {
      const size_t sector =
          std::min(std::min(range.end, end) - at, kSectorBytes - at % kSectorBytes);
      if (random_.Chance(written)) {
        std::copy_n(node->bytes.data() + at, sector, node->synced.data() + at);
      }
      at += sector;
    }
  }
}

// The sectors of `unsynced`, which begins at `offset` in its file, that the disk did not get to.
void SimDisk::LoseSectors(std::span<std::byte> unsynced, size_t offset) {
  const double lost = random_.Uniform();
  while (!unsynced.empty()) {
    const size_t sector = std::min(unsynced.size(), kSectorBytes - offset % kSectorBytes);
    if (random_.Chance(lost)) std::ranges::fill(unsynced.first(sector), std::byte{0});
    unsynced = unsynced.subspan(sector);
    offset += sector;
  }
}

Status SimDisk::Reserve(Node* node, const std::string& path, uint64_t bytes) {
  const uint64_t used = BytesUsed();
  const uint64_t held = std::max<uint64_t>(node->bytes.size(), node->reserved);
  const uint64_t room = options_.bytes_max > used ? options_.bytes_max - used : 0;
  if (bytes > held && bytes - held > room) {
    return DiskFull(
        fmt::format("cannot reserve {} bytes for {}: No space left on device", bytes, path));
  }
  node->reserved = std::max(node->reserved, bytes);
  return Status::Ok();
}

Status SimDisk::AppendTo(Node* node, const std::string& path, std::span<const std::byte> bytes) {
  const uint64_t used = BytesUsed();
  const uint64_t own =
      node->reserved > node->bytes.size() ? node->reserved - node->bytes.size() : 0;
  const uint64_t room = own + (options_.bytes_max > used ? options_.bytes_max - used : 0);
  size_t taken = bytes.size();
  Status status;
  if (FaultNow(&append_fault_)) {
    taken = static_cast<size_t>(random_.Below(bytes.size() + 1));
    status = Failed(fmt::format("cannot write {}: Input/output error", path));
  } else if (bytes.size() > room) {
    taken = static_cast<size_t>(room);
    status = DiskFull(fmt::format("cannot write {}: No space left on device", path));
  }
  const size_t begin = node->bytes.size();
  node->bytes.insert(node->bytes.end(), bytes.begin(),
                     bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  node->Touch(begin, begin + taken);
  return status;
}

Status SimDisk::WriteOver(Node* node, const std::string& path, uint64_t offset,
                          std::span<const std::byte> bytes) {
  Status status;
  if (FaultNow(&append_fault_)) {
    bytes = bytes.first(static_cast<size_t>(random_.Below(bytes.size() + 1)));
    status = Failed(fmt::format("cannot write {}: Input/output error", path));
  }
  const auto begin = static_cast<size_t>(offset);
  std::ranges::copy(bytes, node->bytes.begin() + static_cast<std::ptrdiff_t>(begin));
  node->Touch(begin, begin + bytes.size());
  return status;
}

Status SimDisk::SyncNode(Node* node, const std::string& path) {
  if (FaultNow(&sync_fault_)) {
    node->dirty.clear();
    return Failed(fmt::format("cannot sync {}: Input/output error", path));
  }
  if (node->emptied) node->synced.clear();
  node->emptied = false;
  node->synced.resize(node->bytes.size());
  for (const Node::Range& range : node->dirty) {
    std::copy(node->bytes.data() + range.begin, node->bytes.data() + range.end,
              node->synced.data() + range.begin);
  }
  node->dirty.clear();
  return Status::Ok();
}

bool SimDisk::FaultNow(uint64_t* countdown) {
  if (*countdown == 0) return false;
  return --*countdown == 0;
}

}  // namespace strata
