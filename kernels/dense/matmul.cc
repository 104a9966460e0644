#include "kernels/dense/matmul.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// oneDNN runs on the OpenMP runtime and has no thread setting of its own.
extern "C" void omp_set_num_threads(int threads);  // NOLINT(readability-identifier-naming)

namespace strata {
namespace {

// Shapes follow the batch size, and only the last batches of a share differ: a handful is enough.
constexpr size_t kProductsMax = 64;

constexpr size_t kPieceRows = 256;  // of C, which a thread computes at a time
constexpr size_t kChunk = 512;      // of k: oneDNN sums that many products, then adds the sums
constexpr size_t kAddedAtOnce = 1U << 15;  // numbers

using dnnl::memory;

memory::dim Dim(size_t value) { return static_cast<memory::dim>(value); }

// Elements from a stored row to the next one.
size_t StrideOf(size_t rows, size_t columns, bool transposed, size_t stride) {
  if (stride != 0) return stride;
  return transposed ? rows : columns;
}

memory::desc Matrix(size_t rows, size_t columns, bool transposed, size_t stride = 0) {
  const memory::dim step = Dim(StrideOf(rows, columns, transposed, stride));
  return {{Dim(rows), Dim(columns)},
          memory::data_type::f32,
          transposed ? memory::dims{1, step} : memory::dims{step, 1}};
}

// From the first element of such a matrix to its last.
size_t Extent(size_t rows, size_t columns, bool transposed, size_t stride) {
  if (rows == 0 || columns == 0) return 0;
  const size_t step = StrideOf(rows, columns, transposed, stride);
  return transposed ? (columns - 1) * step + rows : (rows - 1) * step + columns;
}

// oneDNN takes inputs as void*; it only reads them.
void* Input(const float* values) { return const_cast<float*>(values); }

struct alignas(64) CacheLine {
  std::byte bytes[64];
};
// Products of one thread use the same memory one after the other. It is kept until the thread ends.
CacheLine* Scratch(size_t bytes) {
  thread_local std::vector<CacheLine> lines;
  const size_t wanted = (bytes + sizeof(CacheLine) - 1) / sizeof(CacheLine);
  if (lines.size() < wanted) lines.resize(wanted);
  return lines.data();
}

}  // namespace

struct MatMul::Impl {
  // It holds what computes one product. Threads share it.
  struct Product {
    dnnl::matmul primitive;
    memory::desc a, b, bias, c, scratchpad;
    bool has_bias;
    bool splits;  // pieces of it, each computed by one thread, have the bits of the whole
  };
  // It points to the first elements. `bias` is null where there is none.
  struct Operands {
    const float* a;
    const float* b;
    const float* bias;
    float* c;
  };

  explicit Impl(WorkPool* threads_in)
      : threads(threads_in),
        engine(dnnl::engine::kind::cpu, 0),
        has_avx512(dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core) {}

  // `adds`: the product is added to C. oneDNN's choice may follow the number of threads that it is
  // made for.
  const Product& Find(const MatMulShape& shape, bool adds = false) {
    const auto found = products.find({shape, adds});
    if (found != products.end()) return found->second;
    SetThreads();
    const auto a = Matrix(shape.m, shape.k, shape.a_transposed, shape.a_stride);
    const auto b = Matrix(shape.k, shape.n, shape.b_transposed, shape.b_stride);
    const auto c = Matrix(shape.m, shape.n, false, shape.c_stride);
    const auto bias = Matrix(1, shape.n, false);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (adds) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc made(
        shape.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c), attributes,
        engine);
    // The other implementations choose their loops by the shape of a piece.
    const bool is_blocked = std::string_view(made.impl_info_str()).starts_with("brg");
    return products
        .emplace(std::pair(shape, adds),
                 Product{dnnl::matmul(made), a, b, bias, c, made.scratchpad_desc(), shape.bias,
                         has_avx512 && is_blocked})
        .first->second;
  }

  // Of OpenMP, for the calling thread. Where the pool divides products, each is of one thread.
  void SetThreads() const {
    omp_set_num_threads(threads == nullptr || has_avx512 ? 1
                                                         : static_cast<int>(threads->threads()));
  }

  // Any thread.
  void Execute(const Product& product, const Operands& operands) const {
    SetThreads();
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, memory(product.a, engine, Input(operands.a))},
        {DNNL_ARG_WEIGHTS, memory(product.b, engine, Input(operands.b))},
        {DNNL_ARG_DST, memory(product.c, engine, operands.c)},
        {DNNL_ARG_SCRATCHPAD,
         memory(product.scratchpad, engine, Scratch(product.scratchpad.get_size()))}};
    if (product.has_bias) {
      arguments.emplace(DNNL_ARG_BIAS, memory(product.bias, engine, Input(operands.bias)));
    }
    dnnl::stream stream(engine);
    product.primitive.execute(stream, arguments);
    stream.wait();
  }

  void Run(const MatMulShape& shape, const Operands& operands);
  void RunRows(const MatMulShape& shape, const Operands& operands);
  void RunChunks(const MatMulShape& shape, const Operands& operands);
  // Calls task(0) to task(count - 1), with the help of the threads.
  template <typename Task>
  void ForEach(size_t count, const Task& task);

  WorkPool* const threads;
  dnnl::engine engine;
  const bool has_avx512;
  std::map<std::pair<MatMulShape, bool>, Product> products;
  std::vector<float> sums;  // of chunks, one after the other
};

MatMul::MatMul(WorkPool* threads) : impl_(std::make_unique<Impl>(threads)) {}
MatMul::~MatMul() = default;

WorkPool* MatMul::threads() const { return impl_->threads; }

// An error of oneDNN comes from here, whichever thread it was in.
template <typename Task>
void MatMul::Impl::ForEach(size_t count, const Task& task) {
  std::vector<std::exception_ptr> errors(count);
  RunPieces(threads, count, 1, [&](size_t number, size_t /*end*/) {
    try {
      task(number);
    } catch (const dnnl::error&) {
      errors[number] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

void MatMul::Impl::Run(const MatMulShape& shape, const Operands& operands) {
  if (products.size() >= kProductsMax) products.clear();
  const Product& whole = Find(shape);
  if (whole.splits && !shape.a_transposed && shape.m > kPieceRows) {
    RunRows(shape, operands);
  } else if (whole.splits && shape.a_transposed && shape.k > kChunk &&
             StrideOf(shape.m, shape.n, false, shape.c_stride) == shape.n) {
    RunChunks(shape, operands);
  } else {
    Execute(whole, operands);
  }
}

// Each number of C is the same sum whichever rows are computed with it.
void MatMul::Impl::RunRows(const MatMulShape& shape, const Operands& operands) {
  MatMulShape of_piece = shape;
  of_piece.m = kPieceRows;
  MatMulShape of_rest = shape;
  of_rest.m = shape.m % kPieceRows;
  const Product& piece = Find(of_piece);
  const Product& rest = of_rest.m == 0 ? piece : Find(of_rest);
  const size_t a_step = StrideOf(shape.m, shape.k, false, shape.a_stride);
  const size_t c_step = StrideOf(shape.m, shape.n, false, shape.c_stride);
  ForEach((shape.m + kPieceRows - 1) / kPieceRows, [&](size_t number) {
    const size_t row = number * kPieceRows;
    Operands its = operands;
    its.a += row * a_step;
    its.c += row * c_step;
    Execute(row + kPieceRows <= shape.m ? piece : rest, its);
  });
}

// A' * B, summed as oneDNN sums it: chunk after chunk of k. Threads compute some chunks at a time
// into memory of their own, and then add them in order.
void MatMul::Impl::RunChunks(const MatMulShape& shape, const Operands& operands) {
  MatMulShape of_chunk = shape;
  of_chunk.k = kChunk;
  MatMulShape of_rest = shape;
  of_rest.k = shape.k % kChunk;
  const size_t chunks = (shape.k + kChunk - 1) / kChunk;
  const size_t helpers = threads == nullptr ? 0 : threads->threads() - 1;
  const auto product = [&](size_t chunk, bool adds) -> const Product& {
    return Find((chunk + 1) * kChunk <= shape.k ? of_chunk : of_rest, adds);
  };
  const auto at = [&](size_t chunk, float* c) {
    Operands its = operands;
    its.a += chunk * kChunk * StrideOf(shape.m, shape.k, true, shape.a_stride);
    its.b += chunk * kChunk * StrideOf(shape.k, shape.n, shape.b_transposed, shape.b_stride);
    its.c = c;
    return its;
  };
  if (helpers == 0) {
    for (size_t i = 0; i < chunks; ++i) Execute(product(i, i > 0), at(i, operands.c));
    return;
  }
  const size_t numbers = shape.m * shape.n;
  const size_t at_once = std::min(2 * (helpers + 1), chunks);
  sums.resize(std::max(sums.size(), at_once * numbers));
  const Product& whole = product(0, false);
  const Product& last = product(chunks - 1, false);
  for (size_t first = 0; first < chunks; first += at_once) {
    const size_t count = std::min(at_once, chunks - first);
    ForEach(count, [&](size_t i) {
      const size_t chunk = first + i;
      float* const to = chunk == 0 ? operands.c : sums.data() + i * numbers;
      Execute(chunk + 1 < chunks ? whole : last, at(chunk, to));
    });
    RunPieces(threads, numbers, kAddedAtOnce, [&](size_t begin, size_t end) {
      for (size_t i = first == 0 ? 1 : 0; i < count; ++i) {
        const float* const sum = sums.data() + i * numbers;
        for (size_t e = begin; e < end; ++e) operands.c[e] += sum[e];
      }
    });
  }
}

Status MatMul::Run(const Exec& exec, const MatMulShape& shape, std::span<const float> a,
                   std::span<const float> b, std::span<const float> bias, std::span<float> c) {
  if (exec.device != DeviceKind::kCpu) {
    return Refused("matrix product: this build has no kernel for a device other than the CPU");
  }
  STRATA_CHECK(a.size() == Extent(shape.m, shape.k, shape.a_transposed, shape.a_stride) &&
               b.size() == Extent(shape.k, shape.n, shape.b_transposed, shape.b_stride) &&
               c.size() == Extent(shape.m, shape.n, false, shape.c_stride) &&
               bias.size() == (shape.bias ? shape.n : 0));
  if (c.empty()) return {};
  if (shape.k == 0) {
    const size_t step = StrideOf(shape.m, shape.n, false, shape.c_stride);
    for (size_t i = 0; i < shape.m; ++i) {
      for (size_t j = 0; j < shape.n; ++j) c[i * step + j] = shape.bias ? bias[j] : 0.0F;
    }
    return {};
  }
  try {
    impl_->Run(shape, {a.data(), b.data(), bias.data(), c.data()});
  } catch (const dnnl::error& error) {
    return Failed("matrix product of " + std::to_string(shape.m) + " x " + std::to_string(shape.k) +
                  " by " + std::to_string(shape.k) + " x " + std::to_string(shape.n) +
                  ": oneDNN says " + error.what());
  }
  return {};
}

}  // namespace strata
