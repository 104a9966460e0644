// The files of a lane's log in its folder: segments, the spare that becomes the next one, and
// segments that replay cut off and OpenLog set aside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

struct SegmentFile {
  Lsn first = 0;  // as the file's name says
  std::string path;
};

std::string SegmentPath(const std::string& folder, Lsn first);

// Where the next segment is prepared.
std::string SpareSegmentPath(const std::string& folder);

// Where room for a cut is kept on a full disk.
std::string SmallSegmentPath(const std::string& folder);

// What a segment is renamed to when its records were cut.
std::string CutSegmentPath(const std::string& folder, Lsn first);

struct LogFolder {
  std::vector<SegmentFile> segments;  // by first LSN
  std::vector<SegmentFile> cut;       // likewise
};

// Other files are ignored. A folder that does not exist is empty.
Result<LogFolder> ListLogFolder(const LogOptions& options);

}  // namespace strata
