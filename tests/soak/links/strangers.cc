#include "tests/soak/links/strangers.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "cluster/link/connect/frame.h"
#include "tests/soak/links/rank_board.h"
#include "tests/soak/links/raw_socket.h"

namespace strata::soak {
namespace {

constexpr int kAnswerSecondsMax = 20;
constexpr uint64_t kGarbageBytesMax = 100'000;

// Everything until the other side closes.
std::string SendAndRead(uint16_t port, std::string_view bytes, bool* closed) {
  const OwnedFd fd = DialLoopback(port, false);
  const timeval bound = {.tv_sec = kAnswerSecondsMax, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
  // The other side may close before all is sent.
  static_cast<void>(!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  std::string answer;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  *closed = got == 0 || errno == ECONNRESET;
  return answer;
}

std::string SendGarbage(uint16_t port, Random* random) {
  std::string bytes(kLinkHeaderBytes + random->Below(kGarbageBytesMax), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random->Next());
  bool closed = false;
  const std::string answer = SendAndRead(port, bytes, &closed);
  if (!closed) return "garbage was not turned away";
  // It may look like the beginning of TLS, which answers with an alert.
  return answer.empty() || answer[0] == '\x15' ? "" : "garbage was answered";
}

std::string SendOldVersion(uint16_t port) {
  const LinkHeaderBytes header =
      EncodeLinkHeader({.type = LinkFrameType::kHello}, kLinkVersion - 1);
  bool closed = false;
  const std::string answer =
      SendAndRead(port, {reinterpret_cast<const char*>(header.data()), header.size()}, &closed);
  if (!closed) return "an old version was not turned away";
  return answer.find("version") == std::string::npos ? "an old version was not told so" : "";
}

// A process that does what a rank does.
std::string Impersonate(LinkOptions options) {
  const SharedBoard board = MakeSharedBoard();
  RankWords& words = board->ranks[0];
  const pid_t pid = fork();
  if (pid == 0) {
    {
      auto listener = OpenListener("127.0.0.1", 0, kSecond);
      options.workers[static_cast<size_t>(options.rank)].port = listener->port;
      const auto links = Links::Listen(options, std::move(*listener));
      const Status status = (*links)->Connect();
      words.code = status.code();
      words.SetMessage(status.message());
    }
    words.ended = true;
    _exit(0);
  }
  int end = 0;
  waitpid(pid, &end, 0);
  if (!words.ended) return fmt::format("an impostor ended with wait status {}", end);
  if (words.code == StatusCode::kRefused) return "";
  return fmt::format("an impostor was not refused: {} {}", StatusCodeName(words.code),
                     words.Message());
}

}  // namespace

const char* StrangerName(Stranger stranger) {
  switch (stranger) {
    case Stranger::kGarbage:
      return "garbage";
    case Stranger::kOldVersion:
      return "old version";
    case Stranger::kWrongSecret:
      return "wrong secret";
    case Stranger::kWrongJob:
      return "wrong job";
    case Stranger::kWrongWorld:
      return "wrong world";
    case Stranger::kTakenRank:
      return "taken rank";
  }
  return "?";
}

std::string Visit(Stranger stranger, LinkOptions options, Random* random) {
  const uint16_t port = options.workers[random->Below(options.workers.size())].port;
  switch (stranger) {
    case Stranger::kGarbage:
      return SendGarbage(port, random);
    case Stranger::kOldVersion:
      return SendOldVersion(port);
    case Stranger::kWrongSecret:
      options.secret = "a guess";
      break;
    case Stranger::kWrongJob:
      options.job += '2';
      break;
    case Stranger::kWrongWorld:
      options.workers.push_back(options.workers.back());
      break;
    case Stranger::kTakenRank:
      break;
  }
  return Impersonate(std::move(options));
}

std::vector<OwnedFd> HalfOpenConnections(uint16_t port, int count) {
  std::vector<OwnedFd> connections;
  for (int i = 0; i < count; ++i) connections.push_back(DialLoopback(port, true));
  return connections;
}

}  // namespace strata::soak
