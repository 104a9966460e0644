#include "kernels/dense/matmul.h"

#include <algorithm>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

// oneDNN runs on the OpenMP runtime and has no thread setting of its own.
extern "C" void omp_set_num_threads(int threads);  // NOLINT(readability-identifier-naming)

namespace strata {
namespace {

// Shapes follow the batch size, and only the last batches of a share differ: a handful is enough.
constexpr size_t kProductsMax = 64;

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
void* Input(std::span<const float> values) { return const_cast<float*>(values.data()); }

}  // namespace

struct MatMul::Impl {
  explicit Impl(int threads_in)
      : threads(threads_in), engine(dnnl::engine::kind::cpu, 0), stream(engine) {}

  struct Product {
    dnnl::matmul primitive;
    memory a, b, bias, c;
    std::unordered_map<int, memory> arguments;
  };

  Product& Find(const MatMulShape& shape) {
    if (auto found = products.find(shape); found != products.end()) return found->second;
    if (products.size() >= kProductsMax) products.clear();
    const auto a = Matrix(shape.m, shape.k, shape.a_transposed, shape.a_stride);
    const auto b = Matrix(shape.k, shape.n, shape.b_transposed, shape.b_stride);
    const auto c = Matrix(shape.m, shape.n, false, shape.c_stride);
    const auto bias = Matrix(1, shape.n, false);
    const auto description =
        shape.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    Product product{dnnl::matmul(dnnl::matmul::primitive_desc(description, engine)),
                    memory(a, engine, nullptr),
                    memory(b, engine, nullptr),
                    memory(bias, engine, nullptr),
                    memory(c, engine, nullptr),
                    {}};
    product.arguments = {
        {DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}};
    if (shape.bias) product.arguments.emplace(DNNL_ARG_BIAS, product.bias);
    return products.emplace(shape, std::move(product)).first->second;
  }

  int threads;
  dnnl::engine engine;
  dnnl::stream stream;
  std::map<MatMulShape, Product> products;
};

MatMul::MatMul(int threads) : impl_(std::make_unique<Impl>(std::max(threads, 1))) {}
MatMul::~MatMul() = default;

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
  // The setting belongs to the calling thread, and the caller may not be the thread of last time.
  omp_set_num_threads(impl_->threads);
  try {
    Impl::Product& product = impl_->Find(shape);
    product.a.set_data_handle(Input(a));
    product.b.set_data_handle(Input(b));
    product.bias.set_data_handle(Input(bias));
    product.c.set_data_handle(c.data());
    product.primitive.execute(impl_->stream, product.arguments);
    impl_->stream.wait();
  } catch (const dnnl::error& error) {
    return Failed("matrix product of " + std::to_string(shape.m) + " x " + std::to_string(shape.k) +
                  " by " + std::to_string(shape.k) + " x " + std::to_string(shape.n) +
                  ": oneDNN says " + error.what());
  }
  return {};
}

}  // namespace strata
