// SharedLink: a Link through memory that two processes of one host share. Internal to ps/net.
//
// A server's lane listens at a socket of the host (AF_UNIX in the abstract namespace: no file is
// left behind, and other network namespaces do not see it). A client connects; the server makes the
// memory and hands over its descriptor. From then on messages go through the memory's two rings,
// each copied in and copied out, and the socket carries nothing but bytes that wake a side which
// sleeps in poll. When a process ends the kernel closes its socket, and so the other side learns of
// it at once; the memory goes with the last of the two.
//
// Only processes of one user may share memory: each side asks the kernel who the other is. What the
// other writes into the rings is checked like what comes from a socket; the worst that it can do is
// to end the link.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "proto/wire/body_checksum.h"
#include "proto/wire/header.h"
#include "ps/net/link.h"
#include "ps/net/shared_memory.h"

namespace strata::net {

class SharedLink final : public Link {
 public:
  // The server's end of a connection that was accepted. kRefused: another user's, or the system
  // gives no memory.
  static Result<std::unique_ptr<SharedLink>> Serve(OwnedFd socket, size_t queue_bytes_max);
  // The client's end. Returns before the server has answered: it is `ready` only then, and takes no
  // message before. `on_ready` runs inside HandleEvent. kRefused: nobody listens there, or it is
  // another user; kInvalid: no "shm://NAME".
  static Result<std::unique_ptr<SharedLink>> Dial(const std::string& endpoint,
                                                  size_t queue_bytes_max,
                                                  std::function<void()> on_ready);

  bool ready() const { return memory_ != nullptr; }

  Status Send(Message message) override;
  std::optional<Envelope> TryReceive() override;
  bool Flush() override;
  bool BeginSleep() override;
  void EndSleep() override;
  Status ended() const override { return ended_; }
  int descriptor() const override { return socket_.get(); }
  void HandleEvent() override;

 private:
  // In front of each message.
  struct Head {
    uint32_t magic = 0;
    uint32_t frames = 0;
    std::array<uint32_t, wire::kFramesMax + 1> sizes = {};
    uint32_t reserved = 0;
  };
  static_assert(sizeof(Head) == 48);  // docs/protocol.md

  // The message that is being written, and the one that is being read.
  struct Outgoing {
    Head head;
    size_t part = 0;    // 0: the head, then the frames
    size_t offset = 0;  // in it
  };
  struct Incoming {
    Head head;
    size_t head_bytes = 0;  // that have come
    std::shared_ptr<std::byte[]> body;
    size_t body_bytes = 0;
    size_t body_have = 0;
    size_t checksum_have = 0;  // of these, those that checksum_ has, and the header
  };

  SharedLink(OwnedFd socket, size_t queue_bytes_max)
      : socket_(std::move(socket)), queue_bytes_max_(queue_bytes_max) {}
  void Begin(std::unique_ptr<SharedMemory> memory, size_t direction);
  void TakeMemory();
  void WakePeer();
  bool WriteFront();
  bool TakeHead();
  void ReadBody();
  Envelope TakeMessage();
  void End(Status status);

  OwnedFd socket_;
  const size_t queue_bytes_max_;
  std::function<void()> on_ready_;
  std::unique_ptr<SharedMemory> memory_;
  std::optional<RingWriter> writer_;
  std::optional<RingReader> reader_;
  std::deque<Message> waiting_;  // to be written; the first may be half way
  size_t waiting_bytes_ = 0;
  Outgoing outgoing_;
  Incoming incoming_;
  wire::BodyChecksum checksum_;  // of what is being read
  Status ended_;
};

// Where a lane waits for clients of its host.
class SharedListener {
 public:
  // kRefused: the system has no such sockets or no shared memory; the text says why.
  static Result<std::unique_ptr<SharedListener>> Open();

  const std::string& endpoint() const { return endpoint_; }  // "shm://strata-1f2e3d4c5b6a7988"
  int descriptor() const { return socket_.get(); }
  // The connection of the next client that waits, for SharedLink::Serve; no descriptor: none does.
  OwnedFd Accept();

 private:
  SharedListener(OwnedFd socket, std::string endpoint)
      : socket_(std::move(socket)), endpoint_(std::move(endpoint)) {}

  OwnedFd socket_;
  std::string endpoint_;
};

}  // namespace strata::net
