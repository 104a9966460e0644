#include "tests/soak/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <type_traits>

#include "strata/status.h"

namespace strata::soak {

static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 24);

HistoryWriter::HistoryWriter(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  STRATA_CHECK_MSG(fd_ >= 0, "cannot write " + path);
}

HistoryWriter::~HistoryWriter() { close(fd_); }

void HistoryWriter::Write(const Record& record) {
  STRATA_CHECK(write(fd_, &record, sizeof(record)) == static_cast<ssize_t>(sizeof(record)));
}

std::vector<Record> HistoryReader::ReadNew() {
  std::vector<Record> records;
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return records;
  Record chunk[512];
  while (true) {
    const ssize_t got = pread(fd, chunk, sizeof(chunk), static_cast<off_t>(offset_));
    STRATA_CHECK(got >= 0);
    const size_t whole = static_cast<size_t>(got) / sizeof(Record);
    if (whole == 0) break;
    records.insert(records.end(), chunk, chunk + whole);
    offset_ += whole * sizeof(Record);
  }
  close(fd);
  return records;
}

}  // namespace strata::soak
