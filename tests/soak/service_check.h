// What a cluster must still do after something that called it was killed.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"
#include "tests/soak/soak_servers.h"

namespace strata::soak {

// The longest wait of a soak.
struct LongestWait {
  TimeNs time = 0;
  std::string what;

  void Note(TimeNs one, const std::string& words) {
    if (one > time) *this = {one, words};
  }
};

// Errors as of SoakServers. One thread.
class ServiceCheck {
 public:
  ServiceCheck(const SoakServers* servers, LongestWait* longest)
      : servers_(servers), longest_(longest) {}

  // All servers answer; a new client's push is there once, and pulled; a checkpoint can be taken;
  // every byte of all checkpoints is as it was written.
  Status Run();

  // A command of strata-admin that has to end well.
  Status Admin(std::vector<std::string> words);
  // One that is to be killed, or judged by the caller.
  Process StartAdmin(std::vector<std::string> words) const;
  // kDeadlineExceeded when it is still running when the patience is over. What is waited for counts
  // as a wait that began when the process was started, or killed.
  Result<ProcessEnd> AwaitEnd(Process& process, const std::string& name, TimeNs began);

  const SoakServers& servers() const { return *servers_; }

 private:
  Status PushAndPull();

  const SoakServers* servers_;
  LongestWait* longest_;
};

}  // namespace strata::soak
