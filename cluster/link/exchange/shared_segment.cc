#include "cluster/link/exchange/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file/disk.h"
#include "base/random.h"

namespace strata {
namespace {

constexpr uint64_t kMagic = 0x6d68736174617274;  // "tratashm"
constexpr uint32_t kVersion = 1;
constexpr size_t kControlBytes = 4096;
constexpr size_t kSegmentBytes = kControlBytes + 2 * kSharedRingBytes;
constexpr const char* kName = "strata-link";
// What the descriptor of such memory is a link to.
constexpr std::string_view kLinkTarget = "/memfd:strata-link (deleted)";
// With these its size is what it is: memory that a peer could take away would end us by a signal.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status NoMemory(std::string_view what) {
  return Refused(fmt::format("no shared memory: {}: {}", what, std::strerror(errno)));
}

// An offer: "strata-shm 1 BOOT_ID PID FD ID".
constexpr std::string_view kOfferMark = "strata-shm";

struct OfferText {
  std::string boot_id;
  int pid = 0;
  int fd = 0;
  uint64_t id = 0;
};

std::string_view NextWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

template <typename T>
bool ParseNumber(std::string_view word, int base, T* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

Result<OfferText> ParseOffer(std::string_view text) {
  OfferText offer;
  uint32_t version = 0;
  const std::string_view mark = NextWord(&text);
  const bool is_offer = mark == kOfferMark && ParseNumber(NextWord(&text), 10, &version);
  if (is_offer && version != kVersion) {
    return Corrupt(fmt::format("it is of version {}, this rank's is {}", version, kVersion));
  }
  if (is_offer) offer.boot_id = NextWord(&text);
  if (!is_offer || !ParseNumber(NextWord(&text), 10, &offer.pid) ||
      !ParseNumber(NextWord(&text), 10, &offer.fd) ||
      !ParseNumber(NextWord(&text), 16, &offer.id) || !text.empty() || offer.pid <= 0 ||
      offer.fd < 0) {
    return Corrupt("it is no offer of shared memory");
  }
  return offer;
}

// Opens what descriptor `fd` of process `pid` stands for. What it is is looked at before: to open a
// pipe or a terminal of somebody would be felt there.
Result<OwnedFd> OpenOf(int pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  std::array<char, 64> target;
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return NoMemory(path);
  if (std::string_view(target.data(), static_cast<size_t>(length)) != kLinkTarget) {
    return Refused(
        fmt::format("no shared memory: {} is not the creator's, which must run in "
                    "another container",
                    path));
  }
  OwnedFd opened(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (opened.get() < 0) return NoMemory(path);
  struct stat info = {};
  if (fstat(opened.get(), &info) != 0) return NoMemory(path);
  const int seals = fcntl(opened.get(), F_GET_SEALS);
  if (!S_ISREG(info.st_mode) || seals < 0 || (seals & kSeals) != kSeals ||
      info.st_size != static_cast<off_t>(kSegmentBytes)) {
    return Corrupt(fmt::format("it is {} bytes with seals {:#x}, expected {} with {:#x}",
                               info.st_size, seals, kSegmentBytes, kSeals));
  }
  return opened;
}

}  // namespace

// The first page; the rings follow. All zero in the beginning.
struct SharedSegment::Shared {
  // Of the creator, constant once the offer is out.
  uint64_t magic;
  uint32_t version;
  int32_t creator;
  int32_t attacher;
  uint64_t bytes;
  uint64_t job;
  uint64_t id;  // random: tells the segments of one creator apart; the rings' secret

  std::atomic<uint32_t> attached;

  // Of side i (0: the creator): where it sleeps; whether it has left; the ring that it fills.
  struct Side {
    alignas(kApartBytes) Doorbell bell;
    alignas(kApartBytes) std::atomic<uint32_t> left;
    RingIndexes ring;
  };
  std::array<Side, 2> sides;

  std::span<std::byte> Ring(size_t side) {
    return {reinterpret_cast<std::byte*>(this) + kControlBytes + side * kSharedRingBytes,
            kSharedRingBytes};
  }
};

SharedSegment::SharedSegment(Shared* shared, bool is_creator)
    : shared_(shared), number_(is_creator ? 0 : 1) {
  static_assert(sizeof(Shared) <= kControlBytes);
  Shared::Side& mine = shared_->sides[number_];
  Shared::Side& theirs = shared_->sides[1 - number_];
  side_ = {.sender = {&mine.ring, shared_->Ring(number_), shared_->id, &theirs.bell},
           .receiver = {&theirs.ring, shared_->Ring(1 - number_), shared_->id, &theirs.bell},
           .bell = &mine.bell,
           .peer_left = &theirs.left};
}

SharedSegment::~SharedSegment() { munmap(shared_, kSegmentBytes); }

Result<SharedSegment::Shared*> SharedSegment::Map(int fd) {
  void* const memory = mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return NoMemory("mmap");
  return static_cast<Shared*>(memory);
}

Result<std::unique_ptr<SharedSegment>> SharedSegment::Create(const SharedPair& pair) {
  OwnedFd fd(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) return NoMemory("memfd_create");
  // Memory that is not there when it is used would end us by a signal: it is taken now.
  const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(kSegmentBytes));
  if (error != 0) {
    errno = error;
    return NoMemory(fmt::format("posix_fallocate of {} bytes", kSegmentBytes));
  }
  if (fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) return NoMemory("fchmod");
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return NoMemory("sealing it");
  STRATA_ASSIGN(Shared* const shared, Map(fd.get()));
  shared->magic = kMagic;
  shared->version = kVersion;
  shared->creator = pair.creator;
  shared->attacher = pair.attacher;
  shared->bytes = kSegmentBytes;
  shared->job = pair.job;
  shared->id = SystemRandom64();
  std::unique_ptr<SharedSegment> segment(new SharedSegment(shared, true));
  segment->door_ = std::move(fd);
  return segment;
}

std::string SharedSegment::Offer() const {
  const auto boot_id = BootId();
  return fmt::format("{} {} {} {} {} {:x}", kOfferMark, kVersion, boot_id.ok() ? *boot_id : "?",
                     getpid(), door_.get(), shared_->id);
}

Result<std::unique_ptr<SharedSegment>> SharedSegment::Attach(const SharedPair& pair,
                                                             std::string_view text) {
  STRATA_ASSIGN(const OfferText offer, ParseOffer(text));
  STRATA_ASSIGN(const std::string boot_id, BootId());
  if (offer.boot_id != boot_id) return Refused("no shared memory: it is on another host");
  STRATA_ASSIGN(const OwnedFd fd, OpenOf(offer.pid, offer.fd));
  STRATA_ASSIGN(Shared* const memory, Map(fd.get()));
  std::unique_ptr<SharedSegment> segment(new SharedSegment(memory, false));
  Shared& shared = *memory;
  if (shared.magic != kMagic || shared.version != kVersion || shared.bytes != kSegmentBytes) {
    return Corrupt(fmt::format("it is no segment of version {}: magic {:#x}, version {}, {} bytes",
                               kVersion, shared.magic, shared.version, shared.bytes));
  }
  if (shared.job != pair.job || shared.creator != pair.creator ||
      shared.attacher != pair.attacher) {
    return Corrupt(fmt::format("it is for ranks {} and {} of job {:x}, not for {} and {} of {:x}",
                               shared.creator, shared.attacher, shared.job, pair.creator,
                               pair.attacher, pair.job));
  }
  if (shared.id != offer.id) return Corrupt("it is another segment of the same pair");
  if (shared.attached.exchange(1) != 0) return AlreadyExists("somebody has attached to it before");
  return segment;
}

void SharedSegment::Leave() {
  shared_->sides[number_].left.store(1);
  shared_->sides[1 - number_].bell.Ring();
}

}  // namespace strata
