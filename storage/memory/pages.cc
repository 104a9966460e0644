#include "storage/memory/pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace strata {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

Pages Pages::Allocate(size_t bytes) {
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  const size_t spare = size >= kHugePage ? kHugePage : 0;
  void* mapped =
      mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  auto* data = static_cast<std::byte*>(mapped);
  if (spare != 0) {
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(data) % kHugePage) % kHugePage;
    if (before != 0) munmap(data, before);
    data += before;
    if (before != spare) munmap(data + size, spare - before);
    madvise(data, size, MADV_HUGEPAGE);  // a kernel without them gives small pages
  }
  return Pages(data, size);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace strata
