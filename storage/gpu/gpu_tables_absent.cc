// Of a build without CUDA.
#include "storage/gpu/gpu_tables.h"
#include "strata/status.h"

namespace strata {

class DevicePool {};
class PinnedPool {};

GpuTables::GpuTables() = default;
GpuTables::~GpuTables() = default;

Result<std::unique_ptr<GpuTables>> GpuTables::Open(const GpuTablesOptions&) {
  return NotFound("this build has no CUDA; ./dev build --cuda=on makes one that has it");
}

uint64_t GpuTables::staging_bytes() const { return 0; }

std::unique_ptr<LocalTable> GpuTables::Make(const TableSpec&, uint16_t) {
  STRATA_CHECK(false);
  return nullptr;
}

std::unique_ptr<LocalTable> GpuTables::MakeOver(const TableSpec&, uint16_t,
                                                std::unique_ptr<LowerTable>, VictimOrder) {
  STRATA_CHECK(false);
  return nullptr;
}

}  // namespace strata
