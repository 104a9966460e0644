#include "tests/soak/file_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "strata/status.h"

namespace strata::soak {

FileWatch::FileWatch(FileEvent event)
    : event_(event), fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  STRATA_CHECK(fd_ >= 0);
}

FileWatch::~FileWatch() { close(fd_); }

void FileWatch::Add(const std::string& folder) {
  inotify_add_watch(fd_, folder.c_str(), event_ == FileEvent::kOpened ? IN_OPEN : IN_MODIFY);
}

bool FileWatch::Wait(const std::string& suffix, TimeNs patience) {
  const TimeNs deadline = RealClock().Now() + patience;
  while (!Seen(suffix)) {
    const TimeNs left = deadline - RealClock().Now();
    if (left <= 0) return false;
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    poll(&ready, 1, static_cast<int>(std::max<TimeNs>(left / kMillisecond, 1)));
  }
  return true;
}

bool FileWatch::Seen(const std::string& suffix) {
  alignas(inotify_event) char bytes[4096];
  bool seen = false;
  while (true) {
    const ssize_t got = read(fd_, bytes, sizeof(bytes));
    if (got <= 0) return seen;
    for (ssize_t at = 0; at < got;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(bytes + at);
      seen = seen || (event->len > 0 && std::string_view(event->name).ends_with(suffix));
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

}  // namespace strata::soak
