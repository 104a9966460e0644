// Shared memory with a peer that does not keep to the rules: what it writes into the rings, hands
// over, or leaves behind can end its link, and nothing else.
#include "ps/net/shared_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/random.h"
#include "ps/net/client_port.h"
#include "ps/net/lane_port.h"
#include "tests/support/abstract_address.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// A client that holds the memory itself.
class RawClient {
 public:
  explicit RawClient(const std::string& endpoint) {
    const test::AbstractAddress address(endpoint.substr(std::string_view("shm://").size()));
    socket_ = OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(connect(socket_.get(), address.get(), address.size()), 0);
  }
  // True once the memory has come.
  bool TakeMemory() {
    char byte = 0;
    iovec data = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    if (recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return false;
    int fd = -1;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof fd);
    memory_ = net::SharedMemory::Attach(OwnedFd(fd)).value();
    return true;
  }
  net::RingState& requests() { return *memory_->state(1); }
  net::RingState& replies() { return *memory_->state(0); }
  std::span<std::byte> ring() { return memory_->ring(1); }
  void Put(std::span<const uint32_t> words) {
    memcpy(ring().data(), words.data(), words.size_bytes());
    requests().written = words.size_bytes();
  }
  void Knock() const { EXPECT_EQ(send(socket_.get(), "x", 1, MSG_NOSIGNAL), 1); }
  bool Closed() const {
    char byte = 0;
    return recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  OwnedFd socket_;
  std::unique_ptr<net::SharedMemory> memory_;
};

class SharedLinkOfAStranger : public testing::Test {
 protected:
  SharedLinkOfAStranger()
      : context_(ZmqContext::Create().value()),
        lane_(LanePort::Bind(context_, {}).value()),
        stranger_(lane_->shared_endpoint()) {
    EXPECT_TRUE(WaitUntil([this] {
      EXPECT_FALSE(Receive().has_value());
      return stranger_.TakeMemory();
    }));
  }
  std::optional<Envelope> Receive() {
    auto got = lane_->Receive(RealClock().Now() + kMillisecond);
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return got.ok() ? std::move(*got) : std::nullopt;
  }
  void ExpectDropped() {
    EXPECT_TRUE(WaitUntil([this] {
      EXPECT_FALSE(Receive().has_value());
      return stranger_.Closed();
    }));
  }
  std::string Tcp() const { return "tcp://127.0.0.1:" + std::to_string(lane_->port()); }
  std::unique_ptr<ClientPort> HonestClient() {
    auto client = ClientPort::Create(context_, {}).value();
    const std::vector<ClientPort::Lane> lanes = {{Tcp(), lane_->shared_endpoint()}};
    client->ShareMemory("server", lanes);
    EXPECT_TRUE(WaitUntil([&] {
      EXPECT_FALSE(Receive().has_value());
      EXPECT_FALSE(client->Receive(RealClock().Now() + kMillisecond)->has_value());
      return client->RouteOf(Tcp()) == lane_->shared_endpoint();
    }));
    return client;
  }
  // Others are served.
  void ExpectServing() {
    const auto client = HonestClient();
    ASSERT_TRUE(client->Send({Tcp(), {Frame::Copy(std::as_bytes(std::span("hello")))}}).ok());
    EXPECT_TRUE(WaitUntil([&] { return Receive().has_value(); }));
  }

  std::shared_ptr<ZmqContext> context_;
  std::unique_ptr<LanePort> lane_;
  RawClient stranger_;
};

constexpr uint32_t kMagic = 0x4d525453;

TEST_F(SharedLinkOfAStranger, AMessageByTheRulesIsTaken) {
  const std::array<uint32_t, 14> words = {kMagic, 2, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 77, 78};
  stranger_.Put(words);
  stranger_.Knock();
  std::optional<Envelope> got;
  ASSERT_TRUE(WaitUntil([&] { return (got = Receive()).has_value(); }));
  ASSERT_EQ(got->message.size(), 2U);
  EXPECT_EQ(static_cast<uint8_t>(got->message[1].bytes()[0]), 78);
}

// The payload is larger than the ring and than the pieces that it is read in.
TEST_F(SharedLinkOfAStranger, TheChecksumIsComparedWhileAMessageIsRead) {
  const auto client = HonestClient();
  std::vector<std::byte> rows(5'000'001);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(Mix64(i));
  const Frame keys = Frame::Copy(std::as_bytes(std::span("16 bytes of keys")).first(16));
  for (const bool damaged : {false, true, false}) {
    SCOPED_TRACE(damaged);
    wire::Header header;
    header.command = wire::Command::kPush;
    Message message = wire::Seal(header, {keys, Frame::Copy(rows)});
    if (damaged) {
      std::vector<std::byte> other = rows;
      other.back() ^= std::byte{1};
      message[2] = Frame::Own(std::move(other));
    }
    ASSERT_TRUE(client->Send({Tcp(), std::move(message)}).ok());
    std::optional<Envelope> got;
    ASSERT_TRUE(WaitUntil([&] {
      EXPECT_FALSE(client->Receive(RealClock().Now() + kMillisecond)->has_value());
      return (got = Receive()).has_value();
    }));
    EXPECT_EQ(got->is_checked, !damaged);
    const auto opened = wire::Open(got->message, got->is_checked);
    EXPECT_EQ(opened.status().code(), damaged ? StatusCode::kCorrupt : StatusCode::kOk);
  }
}

TEST_F(SharedLinkOfAStranger, WrongHeadsEndTheLink) {
  constexpr uint32_t kMuch = 1U << 31;
  const std::vector<std::vector<uint32_t>> heads = {
      {kMagic + 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0},            // no message
      {kMagic, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},                // without frames
      {kMagic, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},               // more frames than have sizes
      {kMagic, ~0U, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},              //
      {kMagic, 1, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0},                // a size without a frame
      {kMagic, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1},                // reserved
      {kMagic, 1, (64U << 20) + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},  // above the limit
      {kMagic, 2, kMuch, kMuch, 0, 0, 0, 0, 0, 0, 0, 0}};       // 2^32 added
  for (const auto& head : heads) {
    stranger_ = RawClient(lane_->shared_endpoint());
    ASSERT_TRUE(WaitUntil([this] {
      EXPECT_FALSE(Receive().has_value());
      return stranger_.TakeMemory();
    }));
    stranger_.Put(head);
    stranger_.Knock();
    ExpectDropped();
  }
  ExpectServing();
}

TEST_F(SharedLinkOfAStranger, IndexesThatCannotBeEndTheLink) {
  for (const uint64_t written : {net::kSharedRingBytes[1] + 1, ~uint64_t{0}, uint64_t{1} << 63}) {
    stranger_ = RawClient(lane_->shared_endpoint());
    ASSERT_TRUE(WaitUntil([this] {
      EXPECT_FALSE(Receive().has_value());
      return stranger_.TakeMemory();
    }));
    stranger_.requests().written = written;
    stranger_.Knock();
    ExpectDropped();
  }
  ExpectServing();
}

TEST_F(SharedLinkOfAStranger, AReaderAheadOfItsWriterEndsTheLink) {
  const std::array<uint32_t, 13> words = {kMagic, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 77};
  stranger_.Put(words);
  stranger_.Knock();
  std::optional<Envelope> got;
  ASSERT_TRUE(WaitUntil([&] { return (got = Receive()).has_value(); }));
  stranger_.replies().read = uint64_t{1} << 40;
  // More than the ring holds, so that the lane looks at how far the reader is.
  const Frame large = Frame::Own(std::vector<std::byte>(2 * net::kSharedRingBytes[0]));
  [[maybe_unused]] const Status sent = lane_->Send({got->peer, {large}});
  ExpectDropped();
  ExpectServing();
}

// Whatever is written, and however the indexes move while the lane reads.
TEST_F(SharedLinkOfAStranger, GarbageIsDroppedAndOthersAreServed) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    RawClient garbage(lane_->shared_endpoint());
    ASSERT_TRUE(WaitUntil([&] {
      EXPECT_FALSE(Receive().has_value());
      return garbage.TakeMemory();
    }));
    for (size_t i = 0; i < 4096; ++i) garbage.ring()[i] = static_cast<std::byte>(random());
    if (round % 2 == 0) memcpy(garbage.ring().data(), &kMagic, sizeof kMagic);
    garbage.requests().written = round % 3 == 0 ? random() : random() % 8192;
    garbage.replies().read = random() % 4;
    garbage.requests().reader_sleeps = static_cast<uint32_t>(random());
    garbage.replies().writer_sleeps = static_cast<uint32_t>(random());
    garbage.Knock();
    for (int i = 0; i < 3; ++i) {
      // By chance a message may be there as a whole: wire::Open refuses it.
      auto got = Receive();
      EXPECT_FALSE(got && wire::Open(std::move(got->message)).ok());
    }
  }
  ExpectServing();
}

TEST_F(SharedLinkOfAStranger, MoreClientsThanTheLaneSharesMemoryWithAreTurnedAway) {
  std::vector<std::unique_ptr<RawClient>> clients;
  while (clients.size() < 32) {
    clients.push_back(std::make_unique<RawClient>(lane_->shared_endpoint()));
    bool shared = false;
    ASSERT_TRUE(WaitUntil([&] {
      EXPECT_FALSE(Receive().has_value());
      shared = clients.back()->TakeMemory();
      return shared || clients.back()->Closed();
    }));
    EXPECT_EQ(shared, clients.size() < 32) << clients.size();  // the stranger is one too
  }
  clients.clear();
  // Until the lane has seen them all go; their places are free then.
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Receive().has_value());
  ExpectServing();
}

TEST(SharedMemoryAttach, TakesNothingElse) {
  const auto attach = [](int flags, off_t bytes, int seals) {
    OwnedFd fd(memfd_create("test", static_cast<unsigned>(flags)));
    EXPECT_EQ(ftruncate(fd.get(), bytes), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return net::SharedMemory::Attach(fd).status();
  };
  constexpr int kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  constexpr off_t kBytes = 4096 + net::kSharedRingBytes[0] + net::kSharedRingBytes[1];
  EXPECT_EQ(attach(kFlags, kBytes, 0).code(), StatusCode::kCorrupt);  // it could shrink
  EXPECT_EQ(attach(kFlags, 4096, kSeals).code(), StatusCode::kCorrupt);
  const Status zeros = attach(kFlags, kBytes, kSeals);
  EXPECT_EQ(zeros.code(), StatusCode::kCorrupt);
  EXPECT_THAT(zeros.message(), HasSubstr("magic"));
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const OwnedFd other(ends[1]);
  EXPECT_FALSE(net::SharedMemory::Attach(OwnedFd(ends[0])).ok());
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// A listener that answers with as many descriptors as the room for one holds.
TEST(SharedLinkDial, KeepsNoDescriptorThatItDoesNotExpect) {
  const std::string name = fmt::format("strata-test-{}-{}", getpid(), SystemRandom64());
  const test::AbstractAddress address(name);
  const OwnedFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), address.get(), address.size()), 0);
  ASSERT_EQ(listen(listener.get(), 4), 0);
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 8; ++i) {
    auto link = net::SharedLink::Dial("shm://" + name, 1 << 20, {});
    ASSERT_TRUE(link.ok()) << link.status().ToString();
    const OwnedFd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char byte = 0;
    iovec data = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control = {};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const std::array<int, 2> sent = {listener.get(), listener.get()};
    memcpy(CMSG_DATA(rights), sent.data(), sizeof sent);
    ASSERT_EQ(sendmsg(accepted.get(), &header, MSG_NOSIGNAL), 1);
    (*link)->HandleEvent();
    EXPECT_FALSE((*link)->ended().ok());
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(SharedLinkDial, SaysWhyThereIsNone) {
  const auto nobody = net::SharedLink::Dial("shm://strata-nobody", 1 << 20, {});
  EXPECT_EQ(nobody.status().code(), StatusCode::kRefused);
  EXPECT_THAT(nobody.status().message(), HasSubstr("shm://strata-nobody cannot be reached"));
  for (const std::string& text :
       {std::string("shm://"), std::string("tcp://a:1"), "shm://" + std::string(200, 'x')}) {
    EXPECT_EQ(net::SharedLink::Dial(text, 1 << 20, {}).status().code(), StatusCode::kInvalid);
  }
}

}  // namespace
}  // namespace strata
