#include "base/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "strata/status.h"

namespace strata {
namespace {

// timeout(1) signals its child, and then the group that the child is in.
constexpr TimeNs kOneSigterm = kSecond;

std::atomic<bool> g_reopens_log{false};

sigset_t ShutdownSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void IgnoreWriteSignals() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    STRATA_CHECK(std::signal(signal, SIG_IGN) != SIG_ERR);
  }
}

void BlockShutdownSignals() {
  const sigset_t set = ShutdownSignals();
  STRATA_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
}

void ReopenLogOnHangup() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  STRATA_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  g_reopens_log = true;
}

int WaitForSignal() {
  sigset_t set = ShutdownSignals();
  if (g_reopens_log) sigaddset(&set, SIGHUP);
  while (true) {
    int signal = 0;
    STRATA_CHECK(sigwait(&set, &signal) == 0);
    if (signal != SIGHUP) return signal;
    const Result<bool> reopened = ReopenLog();
    if (!reopened.ok()) {
      Log(LogLevel::kWarning, "SIGHUP: {}", reopened.status().message());
    } else {
      Log(LogLevel::kInfo, "SIGHUP: {}",
          *reopened ? "the log's file was opened anew" : "the log goes to stderr, without a file");
    }
  }
}

void RequestShutdown() { STRATA_CHECK(kill(getpid(), SIGTERM) == 0); }

void ExitAtOnce(int) {
  constexpr std::string_view kText = "strata: second signal: leaving at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(1);
}

SignalWatch::SignalWatch(std::function<void(int)> on_first)
    : on_first_(std::move(on_first)), thread_([this] { Run(); }) {}

SignalWatch::~SignalWatch() {
  ending_ = true;
  // To this thread alone: it must not become the shutdown of whoever waits next.
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void SignalWatch::Run() {
  const int first = WaitForSignal();
  if (ending_) return;
  const TimeNs end = RealClock().Now() + kOneSigterm;
  on_first_(first);
  int second = WaitForSignal();
  while (!ending_ && first == SIGTERM && second == SIGTERM && RealClock().Now() < end) {
    second = WaitForSignal();
  }
  if (!ending_) ExitAtOnce(second);
}

}  // namespace strata
