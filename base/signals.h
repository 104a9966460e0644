// SIGINT and SIGTERM as main() needs them: blocked before any thread starts, then waited for. The
// first one asks for an orderly shutdown; the second one ends the process at once.
//
//   int main(...) {
//     IgnoreWriteSignals();                   // first of all
//     BlockShutdownSignals();
//     ... parse, load, server.Start() ...
//     SignalWatch watch([&](int) { asked.release(); });
//     asked.acquire();                        // a daemon
//     server.Stop(); server.Join();           // while it drains, the next signal is the last
//   }
// A program that works in main() holds a SignalWatch([&](int) { job.Stop(); }) instead.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace strata {

// Ignores SIGPIPE and SIGXFSZ, which would end the process without a word. A reader that has gone
// and a file that is larger than the system allows are then errors of the write. Every program
// calls it first of all.
void IgnoreWriteSignals();

// Blocks SIGINT and SIGTERM in this thread and those it starts.
void BlockShutdownSignals();

// Blocks SIGHUP, too: from now on a wait for signals opens the log's file anew (ReopenLog) when one
// comes, and goes on. Where the log has no file there is nothing to open, and the process goes on,
// too. Called before threads start that do not wait.
void ReopenLogOnHangup();

// Waits for SIGINT or SIGTERM, which must be blocked; returns its number.
int WaitForSignal();

// Ends a WaitForSignal as SIGTERM would: for a shutdown that comes by the network. Any thread.
void RequestShutdown();

// Says so on stderr and ends the process with exit code 1; nothing is flushed or joined.
[[noreturn]] void ExitAtOnce(int signal);

// Calls `on_first` on a thread of its own for the first signal, and ExitAtOnce for the second;
// SIGTERMs within a second of the first one are no second signal.
// Signals must be blocked before it is made. Its end stops the watching.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(int)> on_first);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void Run();

  const std::function<void(int)> on_first_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace strata
