// Child processes for tests of whole programs. Their output goes to memory through files that have
// no name, so that nothing is left behind and no pipe fills up.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace strata {

struct ProcessOptions {
  std::vector<std::string> arguments = {};              // without the program's name
  std::map<std::string, std::string> environment = {};  // added to the test's own
  std::string folder = {};                              // to run in; "" stays here
  std::string input = {};                               // what it reads from stdin
};

// How a process ended.
struct ProcessEnd {
  int code = 0;    // exit code; -1 when a signal ended it
  int signal = 0;  // 0 when it exited by itself
  bool operator==(const ProcessEnd&) const = default;
};

// One thread. A process still alive at the end of the object is killed with those that it started;
// so is the process itself when its test dies.
// (The kernel ties that to the thread that started it: start processes on a thread that lives on.)
class Process {
 public:
  // A program that cannot be run ends with code 127 and says why on stderr.
  Process(std::string program, ProcessOptions options);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal);  // SIGTERM, SIGKILL, SIGSTOP, ...; nothing once it has ended

  // Nothing when it is still running after `patience`.
  std::optional<ProcessEnd> Wait(TimeNs patience = 60 * kSecond);
  bool Running();  // SIGSTOPped processes too

  // All that it has written so far.
  std::string Output() const;
  std::string Errors() const;
  // False when `text` has not come within `patience`, or never will since the process ended.
  bool WaitForOutput(const std::string& text, TimeNs patience = 60 * kSecond);
  bool WaitForErrors(const std::string& text, TimeNs patience = 60 * kSecond);

 private:
  bool WaitForText(int fd, const std::string& text, TimeNs patience);

  pid_t pid_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::optional<ProcessEnd> end_;
};

// What a program that runs to its end left.
struct ProcessResult {
  ProcessEnd end;  // {-1, SIGKILL} when it had to be killed for taking longer than `patience`
  std::string output;
  std::string errors;
};
ProcessResult RunProcess(const std::string& program, ProcessOptions options,
                         TimeNs patience = 120 * kSecond);

// The same, with stdout on a disk that is full; or with `what` = "2", stderr.
ProcessResult RunOnFullDisk(const std::string& program, std::vector<std::string> arguments,
                            const std::string& what = "1");

// The path of a program of this build, ProgramPath("strata-server"): where the running one lies, or
// in bin/ beside that folder, so that a build that was copied finds its own.
std::string ProgramPath(const std::string& name);

}  // namespace strata
