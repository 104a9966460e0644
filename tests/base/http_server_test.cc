#include "base/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

namespace strata {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A plain TCP client, so that the test can say anything.
class Client {
 public:
  explicit Client(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    timeval limit{.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False once the server has closed.
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // Until `end` has come, or the server closes.
  std::string ReceiveUntil(std::string_view end) {
    std::string text;
    char bytes[16384];
    ssize_t count = 0;
    while ((count = recv(fd_, bytes, sizeof(bytes), 0)) > 0) {
      text.append(bytes, static_cast<size_t>(count));
      if (!end.empty() && text.ends_with(end)) break;
    }
    return text;
  }
  std::string ReceiveAll() { return ReceiveUntil(""); }

 private:
  const int fd_;
};

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.Handle("/healthz", [] { return HttpReply{.body = "alive\n"}; });
    server_.Handle("/readyz", [] { return HttpReply{.code = 503, .body = "starting\n"}; });
    server_.Handle("/large", [] { return HttpReply{.body = std::string(1 << 20, 'x') + "END"}; });
    ASSERT_TRUE(server_.Start("127.0.0.1", 0).ok());
    ASSERT_NE(server_.port(), 0);
  }

  // The whole answer to one request, after which the server closes.
  std::string Ask(std::string_view request) {
    Client client(server_.port());
    client.Send(request);
    return client.ReceiveAll();
  }

  std::string Get(const std::string& target) {
    return Ask("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  HttpServer server_;
};

TEST_F(HttpServerTest, AnswersByPath) {
  const std::string health = Get("/healthz");
  EXPECT_THAT(health, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(health, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(health, EndsWith("\r\n\r\nalive\n"));
  EXPECT_THAT(Get("/healthz?verbose=1"), EndsWith("alive\n"));
  EXPECT_THAT(Get("/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Get("/large"), EndsWith("xEND"));
  EXPECT_THAT(Get("/nothing"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/nothing"), HasSubstr("/healthz\n"));
}

TEST_F(HttpServerTest, KeepsConnectionsAlive) {
  Client client(server_.port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_THAT(client.ReceiveUntil("alive\n"), StartsWith("HTTP/1.1 200 "));
  }
  // Two requests in one packet.
  ASSERT_TRUE(
      client.Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
                  "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(client.ReceiveAll(), EndsWith("starting\n"));
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  const std::string answer = Ask("HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, OtherMethodsAndBodiesAreRefused) {
  const std::string post = Ask("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(post, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, GarbageIsABadRequest) {
  EXPECT_THAT(Ask("\x16\x03\x01\x02 hello\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(std::string_view("\0\0\0\0\0\0\0\0\r\n\r\n", 12)), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET /healthz HTTP/9.9\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get("/healthz"), EndsWith("alive\n"));
}

TEST_F(HttpServerTest, OversizedRequestsAreRefused) {
  const std::string header(20000, 'h');
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\nX: " + header + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("GET /" + header + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  // Without an end: the server must neither wait nor buffer for ever.
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\n" + std::string(200000, 'x')),
              StartsWith("HTTP/1.1 4"));
}

TEST_F(HttpServerTest, ASlowClientDoesNotHoldUpOthers) {
  Client slow(server_.port());
  const std::string_view request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (char c : request) {
    ASSERT_TRUE(slow.Send(std::string_view(&c, 1)));
    if (c == ' ') {
      EXPECT_THAT(Get("/healthz"), EndsWith("alive\n"));
    }
  }
  EXPECT_THAT(slow.ReceiveAll(), EndsWith("alive\n"));
}

TEST_F(HttpServerTest, HalfARequestAndAnAbruptEndAreHarmless) {
  for (int i = 0; i < 100; ++i) {
    Client client(server_.port());
    client.Send("GET /large HTTP/1.1\r\nHost: x\r\n");
    if (i % 2 == 0) client.Send("\r\n");
  }
  EXPECT_THAT(Get("/healthz"), EndsWith("alive\n"));
}

TEST_F(HttpServerTest, ANewConnectionTakesThePlaceOfTheOneThatIsIdleLongest) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<Client>(server_.port()));
    ASSERT_TRUE(clients.back()->Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_THAT(clients.back()->ReceiveUntil("alive\n"), EndsWith("alive\n"));
  }
  // Asked again, the first one is not the oldest any more.
  ASSERT_TRUE(clients[0]->Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_THAT(clients[0]->ReceiveUntil("alive\n"), EndsWith("alive\n"));
  EXPECT_THAT(Get("/healthz"), EndsWith("alive\n"));
  EXPECT_EQ(clients[1]->ReceiveAll(), "");
  ASSERT_TRUE(clients[0]->Send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(clients[0]->ReceiveUntil("starting\n"), EndsWith("starting\n"));
}

TEST_F(HttpServerTest, ConnectionsThatSayNothingKeepNobodyOut) {
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(std::make_unique<Client>(server_.port()));
    if (i % 2 == 0) silent.back()->Send("GET /healthz HTT");
    if (i % 10 == 0) {
      EXPECT_THAT(Get("/healthz"), EndsWith("alive\n"));
    }
  }
}

// Their answers are larger than what the kernel takes in for them.
TEST_F(HttpServerTest, ConnectionsThatTakeNoAnswerKeepNobodyOut) {
  std::vector<std::unique_ptr<Client>> deaf;
  for (int i = 0; i < 100; ++i) {
    deaf.push_back(std::make_unique<Client>(server_.port()));
    for (int request = 0; request < 8; ++request) {
      deaf.back()->Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    }
  }
  EXPECT_THAT(Get("/healthz"), EndsWith("alive\n"));
}

TEST_F(HttpServerTest, APortInUseIsAnErrorWithAddressAndCause) {
  HttpServer other;
  const Status status = other.Start("127.0.0.1", server_.port());
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_EQ(status.message(),
            "cannot listen for HTTP on 127.0.0.1:" + std::to_string(server_.port()) +
                ": Address already in use; choose another --http_port, 0 for a "
                "free one");
}

TEST_F(HttpServerTest, AddressesThatAreNotOursAreErrors) {
  HttpServer other;
  EXPECT_THAT(other.Start("192.0.2.1", 0).message(), HasSubstr("192.0.2.1:0: "));
  HttpServer another;
  EXPECT_THAT(another.Start("no such host", 0).message(), HasSubstr("no such host:0: "));
}

TEST_F(HttpServerTest, StopsWithConnectionsOpen) {
  Client idle(server_.port());
  Client busy(server_.port());
  ASSERT_TRUE(busy.Send("GET /healthz HTTP/1.1\r\n"));
  server_.Stop();
  server_.Stop();
  server_.Join();
}

TEST(HttpServerLifeTest, EndsUnstarted) {
  HttpServer server;
  server.Stop();
  server.Join();
}

}  // namespace
}  // namespace strata
