#include "tests/soak/client_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "strata/status.h"

namespace strata::soak {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

SharedPage::SharedPage(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  STRATA_CHECK_MSG(fd >= 0, "cannot open " + path);
  STRATA_CHECK(ftruncate(fd, sizeof(ClientPage)) == 0);
  void* const memory = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  STRATA_CHECK(memory != MAP_FAILED);
  close(fd);
  page_ = static_cast<ClientPage*>(memory);
}

SharedPage::~SharedPage() { munmap(page_, sizeof(ClientPage)); }

}  // namespace strata::soak
