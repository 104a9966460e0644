#include "cluster/link/exchange/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file/disk.h"
#include "base/file/owned_fd.h"
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

SharedSegment::SharedSegment(SealedMemory memory, bool is_creator)
    : memory_(std::move(memory)), number_(is_creator ? 0 : 1) {
  static_assert(sizeof(Shared) <= kControlBytes);
  Shared::Side& mine = shared().sides[number_];
  Shared::Side& theirs = shared().sides[1 - number_];
  const uint64_t secret = shared().id;
  side_ = {.sender = {&mine.ring, shared().Ring(number_), secret, &theirs.bell},
           .receiver = {&theirs.ring, shared().Ring(1 - number_), secret, &theirs.bell},
           .bell = &mine.bell,
           .peer_left = &theirs.left};
}

SharedSegment::Shared& SharedSegment::shared() const {
  return *reinterpret_cast<Shared*>(memory_.data());
}

Result<std::unique_ptr<SharedSegment>> SharedSegment::Create(const SharedPair& pair) {
  STRATA_ASSIGN(SealedMemory memory, SealedMemory::Create(kName, kSegmentBytes));
  auto& shared = *reinterpret_cast<Shared*>(memory.data());
  shared.magic = kMagic;
  shared.version = kVersion;
  shared.creator = pair.creator;
  shared.attacher = pair.attacher;
  shared.bytes = kSegmentBytes;
  shared.job = pair.job;
  shared.id = SystemRandom64();
  return std::unique_ptr<SharedSegment>(new SharedSegment(std::move(memory), true));
}

std::string SharedSegment::Offer() const {
  const auto boot_id = BootId();
  return fmt::format("{} {} {} {} {} {:x}", kOfferMark, kVersion, boot_id.ok() ? *boot_id : "?",
                     getpid(), memory_.descriptor(), shared().id);
}

Result<std::unique_ptr<SharedSegment>> SharedSegment::Attach(const SharedPair& pair,
                                                             std::string_view text) {
  STRATA_ASSIGN(const OfferText offer, ParseOffer(text));
  STRATA_ASSIGN(const std::string boot_id, BootId());
  if (offer.boot_id != boot_id) return Refused("no shared memory: it is on another host");
  STRATA_ASSIGN(const OwnedFd fd, OpenOf(offer.pid, offer.fd));
  STRATA_ASSIGN(SealedMemory memory, SealedMemory::Attach(fd, kSegmentBytes));
  std::unique_ptr<SharedSegment> segment(new SharedSegment(std::move(memory), false));
  Shared& shared = segment->shared();
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
  shared().sides[number_].left.store(1);
  shared().sides[1 - number_].bell.Ring();
}

}  // namespace strata
