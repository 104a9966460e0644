// Who may attach to shared memory, and what is refused.
#include "cluster/link/exchange/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr SharedPair kPair = {.job = 7, .creator = 2, .attacher = 5};

// The words of an offer: mark, version, boot id, process, descriptor, id.
std::vector<std::string> Words(const std::string& offer) {
  std::istringstream in(offer);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string WithWord(const std::string& offer, size_t word, const std::string& value) {
  std::vector<std::string> words = Words(offer);
  words[word] = value;
  return fmt::format("{}", fmt::join(words, " "));
}

class SharedSegmentAttach : public ::testing::Test {
 protected:
  SharedSegmentAttach() { Create(); }

  void Create() {
    auto created = SharedSegment::Create(kPair);
    EXPECT_TRUE(created.ok()) << created.status().ToString();
    segment_ = std::move(*created);
    offer_ = segment_->Offer();
  }

  void ExpectError(const SharedPair& pair, const std::string& offer, StatusCode code,
                   const std::string& text) {
    const auto attached = SharedSegment::Attach(pair, offer);
    EXPECT_EQ(attached.status().code(), code) << offer;
    EXPECT_THAT(attached.status().message(), HasSubstr(text)) << offer;
  }

  std::unique_ptr<SharedSegment> segment_;
  std::string offer_;
};

TEST_F(SharedSegmentAttach, GivesTheOtherEndsOfBothRings) {
  const auto attached = SharedSegment::Attach(kPair, offer_);
  ASSERT_TRUE(attached.ok()) << attached.status().ToString();
  SharedSide* const sides[2] = {&segment_->side(), &(*attached)->side()};
  for (size_t from = 0; from < 2; ++from) {
    const std::span<std::byte> room = sides[from]->sender.Room(kSharedRingBytes);
    ASSERT_EQ(room.size(), kSharedRingBytes);
    room.front() = room.back() = static_cast<std::byte>(from + 1);
    sides[from]->sender.Advance(room.size());
    sides[from]->sender.Publish();
  }
  for (size_t to = 0; to < 2; ++to) {
    const std::span<const std::byte> filled = sides[to]->receiver.Filled(1);
    ASSERT_EQ(filled.size(), kSharedRingBytes);
    EXPECT_EQ(filled.front(), static_cast<std::byte>(2 - to));
    EXPECT_EQ(filled.back(), static_cast<std::byte>(2 - to));
  }
  EXPECT_EQ(sides[0]->peer_left->load(), 0U);
  (*attached)->Leave();
  EXPECT_EQ(sides[0]->peer_left->load(), 1U);
  EXPECT_EQ(sides[1]->peer_left->load(), 0U);
}

TEST_F(SharedSegmentAttach, BelongsToItsUserAlone) {
  struct stat info = {};
  ASSERT_EQ(fstat(std::stoi(Words(offer_)[4]), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(SharedSegmentAttach, RefusesAnotherJobOrRank) {
  ExpectError({.job = 8, .creator = 2, .attacher = 5}, offer_, StatusCode::kCorrupt, "of job 7");
  ExpectError({.job = 7, .creator = 3, .attacher = 5}, offer_, StatusCode::kCorrupt,
              "for ranks 2 and 5");
  ExpectError({.job = 7, .creator = 2, .attacher = 4}, offer_, StatusCode::kCorrupt,
              "for ranks 2 and 5");
  ExpectError(kPair, WithWord(offer_, 5, "1"), StatusCode::kCorrupt, "another segment");
}

TEST_F(SharedSegmentAttach, RefusesOtherMagicAndVersion) {
  ExpectError(kPair, WithWord(offer_, 1, "2"), StatusCode::kCorrupt, "of version 2");
  for (const off_t offset : {0, 8}) {
    Create();
    const int fd = std::stoi(Words(offer_)[4]);
    ASSERT_EQ(pwrite(fd, "\xff", 1, offset), 1);
    ExpectError(kPair, offer_, StatusCode::kCorrupt, "no segment of version 1");
  }
}

TEST_F(SharedSegmentAttach, RefusesASecondOne) {
  const auto first = SharedSegment::Attach(kPair, offer_);
  ASSERT_TRUE(first.ok());
  ExpectError(kPair, offer_, StatusCode::kExists, "attached to it before");
}

TEST_F(SharedSegmentAttach, RefusesOnceTheDoorIsClosed) {
  segment_->CloseDoor();
  ExpectError(kPair, offer_, StatusCode::kRefused, "no shared memory");
}

TEST_F(SharedSegmentAttach, RefusesOtherHostsAndProcesses) {
  ExpectError(kPair, WithWord(offer_, 2, "0c1d"), StatusCode::kRefused, "on another host");
  ExpectError(kPair, WithWord(offer_, 3, "2147483647"), StatusCode::kRefused, "no shared memory");
  // A descriptor of the same number in another container: something else.
  const OwnedFd other(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ExpectError(kPair, WithWord(offer_, 4, std::to_string(other.get())), StatusCode::kRefused,
              "is not the creator's");
}

TEST_F(SharedSegmentAttach, RefusesWhatIsNoOffer) {
  for (const std::string& bad :
       {std::string(), std::string("hello"), offer_ + " more", offer_.substr(0, 20),
        WithWord(offer_, 3, "-1"), WithWord(offer_, 3, "99999999999"), WithWord(offer_, 4, "-1"),
        WithWord(offer_, 4, "4x"), WithWord(offer_, 5, "z")}) {
    ExpectError(kPair, bad, StatusCode::kCorrupt, "no offer");
  }
}

// Memory that its creator could still take away, and such that is too small.
TEST_F(SharedSegmentAttach, RefusesMemoryOfAnotherSizeOrThatCouldShrink) {
  const off_t whole = lseek(std::stoi(Words(offer_)[4]), 0, SEEK_END);
  for (const off_t size : {whole, whole - 4096}) {
    const OwnedFd fd(memfd_create("strata-link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(fd.get(), size), 0);
    if (size != whole) {
      ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    }
    ExpectError(kPair, WithWord(offer_, 4, std::to_string(fd.get())), StatusCode::kCorrupt,
                "with seals");
  }
}

}  // namespace
}  // namespace strata
