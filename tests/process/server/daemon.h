// A strata-server that has said that it is ready.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "proto/wire/commands.h"
#include "ps/client/control_call.h"
#include "tests/support/process.h"

namespace strata {

inline const uint64_t kCluster = Hash64("strata");  // the default name

// A daemon that has said that it is ready.
class Daemon {
 public:
  explicit Daemon(std::vector<std::string> arguments = {"--port=0"},
                  std::map<std::string, std::string> environment = {})
      : process_(ProgramPath("strata-server"),
                 {.arguments = std::move(arguments), .environment = std::move(environment)}) {
    if (!process_.WaitForOutput("\n")) {
      ADD_FAILURE() << "not ready: " << process_.Errors();
      return;
    }
    const std::regex form(
        R"(strata-server ready: rank (\d+) tcp://127\.0\.0\.1:(\d+) lanes (\d+) device \S+ )"
        R"(http http://127\.0\.0\.1:(\d+) data (\S+) incarnation ([0-9a-f]{16})\n)");
    const std::string line = process_.Output();
    std::smatch match;
    if (!std::regex_match(line, match, form)) {
      ADD_FAILURE() << line;
      return;
    }
    port_ = static_cast<uint16_t>(std::stoi(match[2]));
    http_port_ = static_cast<uint16_t>(std::stoi(match[4]));
    data_ = match[5];
    incarnation_ = std::stoull(match[6], nullptr, 16);
  }

  Process& process() { return process_; }
  uint16_t port() const { return port_; }
  uint16_t http_port() const { return http_port_; }
  const std::string& data() const { return data_; }
  uint64_t incarnation() const { return incarnation_; }
  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
  Result<wire::HelloReply> Hello(uint64_t cluster = kCluster) const {
    return CallHello(address(), cluster, 20 * kSecond);
  }
  // Alive, and answering.
  void ExpectServing() {
    EXPECT_TRUE(process_.Running()) << process_.Errors();
    const Result<wire::HelloReply> hello = Hello();
    EXPECT_TRUE(hello.ok()) << hello.status().ToString();
  }
  void Kill() {
    process_.Signal(SIGKILL);
    EXPECT_EQ(process_.Wait(), (ProcessEnd{-1, SIGKILL}));
  }
  void ExpectOrderlyEnd() {
    process_.Signal(SIGTERM);
    EXPECT_EQ(process_.Wait(), ProcessEnd{0}) << process_.Errors();
  }

 private:
  Process process_;
  uint16_t port_ = 0;
  uint16_t http_port_ = 0;
  std::string data_;
  uint64_t incarnation_ = 0;
};

}  // namespace strata
