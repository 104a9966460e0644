// Matrix products on a GPU, behind one interface: cuBLASLt, or a plain kernel where GPUs are
// emulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

// GemmPrecision says which numbers a product multiplies. It adds them up in fp32 in any case.
enum class GemmPrecision : uint8_t {
  kFp32,  // operands are fp32
  kTf32,  // operands are fp32, of which 10 bits of the fraction count
  kBf16,  // operands are bf16
};

// A row-major matrix in the GPU's memory, the next row `stride` elements further.
struct GemmOperand {
  const void* data = nullptr;
  size_t stride = 0;
  bool transposed = false;  // stored the other way round
};

// c (m x n) = a (m x k) * b (k x n), + bias by column, + c itself where it `adds`; then negative
// numbers become 0 where `relu`.
struct GemmCall {
  size_t m = 0;
  size_t n = 0;
  size_t k = 0;
  GemmOperand a;
  GemmOperand b;
  void* c = nullptr;
  size_t c_stride = 0;
  bool c_is_fp32 = false;  // else of the operands' type
  bool adds = false;
  bool relu = false;           // with a bias alone
  const void* bias = nullptr;  // n elements of the operands' type, or none
};

// GpuGemm enqueues products on one stream. Only the first call of a shape waits for the GPU: it
// tries which of cuBLASLt's ways is the fastest, among those that give the bits of the one that
// cuBLASLt proposes first. One thread at a time may call it.
class GpuGemm {
 public:
  virtual ~GpuGemm() = default;
  // The same calls give the same bits on GPUs of one kind with one version of cuBLAS. A shape that
  // comes first while a CUDA graph is recorded is not tried. kFailed, with the sizes: cuBLASLt has
  // no way to compute it.
  virtual Status Run(const GemmCall& call) = 0;
};

// kRefused: the GPU has no memory for it.
Result<std::unique_ptr<GpuGemm>> MakeGpuGemm(const Exec& exec, GemmPrecision precision);

}  // namespace strata
