#include "ps/net/shared_link.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/large_blocks.h"
#include "base/random.h"
#include "ps/net/zmq_socket.h"

namespace strata::net {
namespace {

constexpr std::string_view kScheme = "shm://";
constexpr uint32_t kHeadMagic = 0x4d525453;  // "STRM"

Status SystemRefuses(std::string_view what) {
  return Refused(fmt::format("{}: {}", what, std::strerror(errno)));
}

struct Address {
  sockaddr_un address = {};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// In the abstract namespace: a zero byte, then the name.
Result<Address> AddressOf(std::string_view endpoint) {
  Address made;
  const bool fits = endpoint.starts_with(kScheme) && endpoint.size() > kScheme.size() &&
                    endpoint.size() - kScheme.size() < sizeof made.address.sun_path;
  if (!fits) return Invalid(fmt::format("'{}' is no endpoint; expected shm://NAME", endpoint));
  const std::string_view name = endpoint.substr(kScheme.size());
  made.address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), made.address.sun_path + 1);
  made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

Status CheckSameUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return SystemRefuses("SO_PEERCRED");
  }
  if (peer.uid == geteuid()) return {};
  return Refused(
      fmt::format("process {} is user {}'s, this one user {}'s", peer.pid, peer.uid, geteuid()));
}

OwnedFd OpenSocket() {
  return OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Room for one descriptor beside one byte.
struct DescriptorMessage {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr header = {};
  DescriptorMessage() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
};

// All that have come belong to this process now, wanted or not: room for one is room for two, as
// control messages are aligned.
std::vector<OwnedFd> DescriptorsOf(msghdr& header) {
  std::vector<OwnedFd> descriptors;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int received = -1;
      memcpy(&received, CMSG_DATA(control) + i * sizeof received, sizeof received);
      descriptors.emplace_back(received);
    }
  }
  return descriptors;
}

Status SendDescriptor(int socket, int descriptor) {
  DescriptorMessage message;
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  if (sendmsg(socket, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return {};
  return SystemRefuses("handing over shared memory");
}

}  // namespace

void SharedLink::Begin(std::unique_ptr<SharedMemory> memory, size_t direction) {
  memory_ = std::move(memory);
  writer_.emplace(memory_->state(direction), memory_->ring(direction));
  reader_.emplace(memory_->state(1 - direction), memory_->ring(1 - direction));
}

Result<std::unique_ptr<SharedLink>> SharedLink::Serve(OwnedFd socket, size_t queue_bytes_max) {
  STRATA_TRY(CheckSameUser(socket.get()));
  STRATA_ASSIGN(std::unique_ptr<SharedMemory> memory, SharedMemory::Create());
  STRATA_TRY(SendDescriptor(socket.get(), memory->descriptor()));
  std::unique_ptr<SharedLink> link(new SharedLink(std::move(socket), queue_bytes_max));
  link->Begin(std::move(memory), 0);
  return link;
}

Result<std::unique_ptr<SharedLink>> SharedLink::Dial(const std::string& endpoint,
                                                     size_t queue_bytes_max,
                                                     std::function<void()> on_ready) {
  STRATA_ASSIGN(const Address address, AddressOf(endpoint));
  OwnedFd socket = OpenSocket();
  if (socket.get() < 0) return SystemRefuses("socket");
  // Within a host this does not wait: the listener is there and has room, or it is an error.
  if (connect(socket.get(), address.get(), address.length) != 0) {
    return SystemRefuses(fmt::format("{} cannot be reached from here", endpoint));
  }
  STRATA_TRY(CheckSameUser(socket.get()));
  std::unique_ptr<SharedLink> link(new SharedLink(std::move(socket), queue_bytes_max));
  link->on_ready_ = std::move(on_ready);
  return link;
}

void SharedLink::End(Status status) {
  if (ended_.ok()) ended_ = std::move(status);
}

void SharedLink::HandleEvent() {
  if (!ready()) return TakeMemory();
  // Bytes that woke this side; nobody needs more than one.
  std::array<char, 256> bytes;
  const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
  End(Lost("the other process has ended, or let go of the memory"));
}

// The server's answer: a byte with the memory's descriptor.
void SharedLink::TakeMemory() {
  DescriptorMessage message;
  const ssize_t got = recvmsg(socket_.get(), &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return End(Lost("the server does not share its memory"));
  std::vector<OwnedFd> descriptors = DescriptorsOf(message.header);
  if (descriptors.size() != 1) {
    return End(Corrupt(
        fmt::format("the server's answer: expected one descriptor, found {}", descriptors.size())));
  }
  auto memory = SharedMemory::Attach(descriptors[0]);
  if (!memory.ok()) return End(memory.status());
  Begin(std::move(*memory), 1);
  if (on_ready_) on_ready_();
}

void SharedLink::WakePeer() {
  const char byte = 0;
  // When the socket is full, it is readable.
  [[maybe_unused]] const ssize_t sent = send(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Status SharedLink::Send(Message message) {
  if (!ended_.ok()) return Lost(ended_.message());
  STRATA_TRY(CheckSendable(message));
  const size_t bytes = MessageBytes(message);
  if (waiting_bytes_ != 0 && waiting_bytes_ + bytes > queue_bytes_max_) {
    return QueueFull(waiting_bytes_, bytes, queue_bytes_max_);
  }
  waiting_.push_back(std::move(message));
  waiting_bytes_ += bytes;
  Flush();
  return {};
}

bool SharedLink::Flush() {
  while (!waiting_.empty() && ended_.ok()) {
    const bool whole = WriteFront();
    if (writer_->Publish()) WakePeer();
    if (writer_->broken()) End(Corrupt("the reader's index in shared memory cannot be"));
    if (!whole) return false;
    waiting_bytes_ -= MessageBytes(waiting_.front());
    waiting_.pop_front();
    outgoing_ = {};
  }
  return true;
}

// False: there is no room for all of it.
bool SharedLink::WriteFront() {
  const Message& message = waiting_.front();
  if (outgoing_.head.magic == 0) {
    outgoing_.head.magic = kHeadMagic;
    outgoing_.head.frames = static_cast<uint32_t>(message.size());
    for (size_t i = 0; i < message.size(); ++i) {
      outgoing_.head.sizes[i] = static_cast<uint32_t>(message[i].size());
    }
  }
  while (outgoing_.part <= message.size()) {
    const std::span<const std::byte> all = outgoing_.part == 0
                                               ? std::as_bytes(std::span(&outgoing_.head, 1))
                                               : message[outgoing_.part - 1].bytes();
    const std::span<const std::byte> rest = all.subspan(outgoing_.offset);
    const size_t written = writer_->Write(rest);
    outgoing_.offset += written;
    if (written < rest.size()) return false;
    ++outgoing_.part;
    outgoing_.offset = 0;
  }
  return true;
}

// Reads on in the head. True once it is there as a whole and makes sense.
bool SharedLink::TakeHead() {
  Incoming& in = incoming_;
  if (in.body != nullptr) return true;
  in.head_bytes +=
      reader_->Read(std::as_writable_bytes(std::span(&in.head, 1)).subspan(in.head_bytes));
  if (in.head_bytes < sizeof(Head)) return false;
  const Head& head = in.head;
  bool good = head.magic == kHeadMagic && head.reserved == 0 && head.frames > 0 &&
              head.frames <= head.sizes.size();
  for (size_t i = 0; i < head.sizes.size(); ++i) {
    good = good && (i < head.frames || head.sizes[i] == 0);
    in.body_bytes += head.sizes[i];
  }
  if (!good || in.body_bytes > wire::kMessageBytesMax) {
    End(
        Corrupt(fmt::format("no message lies in shared memory where one was to begin: magic "
                            "{:#x}, {} frames of {} bytes",
                            head.magic, head.frames, in.body_bytes)));
    return false;
  }
  in.body = TakeBlock(in.body_bytes);
  in.checksum_have = head.sizes[0];
  return true;
}

// In pieces, so that the writer can go on meanwhile, and a piece's bytes are still in the cache
// when its checksum is made.
void SharedLink::ReadBody() {
  constexpr size_t kPiece = size_t{512} << 10;
  Incoming& in = incoming_;
  for (size_t got = 1; got > 0 && in.body_have < in.body_bytes;) {
    const size_t most = std::min(kPiece, in.body_bytes - in.body_have);
    got = reader_->Read(std::span(in.body.get() + in.body_have, most));
    in.body_have += got;
    if (in.body_have > in.checksum_have) {
      checksum_.Add({in.body.get() + in.checksum_have, in.body_have - in.checksum_have});
      in.checksum_have = in.body_have;
    }
    if (reader_->Release()) WakePeer();
  }
}

Envelope SharedLink::TakeMessage() {
  Envelope envelope;
  Message& message = envelope.message;
  size_t offset = 0;
  for (size_t i = 0; i < incoming_.head.frames; ++i) {
    const size_t size = incoming_.head.sizes[i];
    message.emplace_back(incoming_.body, std::span(incoming_.body.get() + offset, size));
    offset += size;
  }
  incoming_ = {};
  const Result<wire::Header> header = wire::DecodeHeader(message.front().bytes());
  envelope.is_checked = header.ok() && header->body_checksum == checksum_.Sum();
  checksum_.Restart();
  return envelope;
}

std::optional<Envelope> SharedLink::TryReceive() {
  if (!ready() || ended_.code() == StatusCode::kCorrupt) return {};
  std::optional<Envelope> envelope;
  if (TakeHead()) {
    ReadBody();
    if (incoming_.body_have == incoming_.body_bytes) envelope = TakeMessage();
  }
  if (reader_->Release()) WakePeer();
  if (reader_->broken()) End(Corrupt("the writer's index in shared memory cannot be"));
  return envelope;
}

bool SharedLink::BeginSleep() {
  if (!ended_.ok()) return false;
  if (!ready()) return true;  // the socket wakes
  const bool nothing_to_read = reader_->BeginSleep();
  const bool nothing_to_write = waiting_.empty() || writer_->BeginSleep();
  return nothing_to_read && nothing_to_write;
}

void SharedLink::EndSleep() {
  if (!ready()) return;
  reader_->EndSleep();
  writer_->EndSleep();
}

Result<std::unique_ptr<SharedListener>> SharedListener::Open() {
  STRATA_TRY(SharedMemory::Create().status());
  std::string endpoint = fmt::format("{}strata-{:016x}", kScheme, SystemRandom64());
  STRATA_ASSIGN(const Address address, AddressOf(endpoint));
  OwnedFd socket = OpenSocket();
  if (socket.get() < 0 || bind(socket.get(), address.get(), address.length) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    return SystemRefuses("cannot listen for clients of this host");
  }
  return std::unique_ptr<SharedListener>(
      new SharedListener(std::move(socket), std::move(endpoint)));
}

OwnedFd SharedListener::Accept() {
  return OwnedFd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

}  // namespace strata::net
