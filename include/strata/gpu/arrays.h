// Reductions, prefix sums and sorts of whole arrays in a GPU's memory: shuffle.cuh's and
// bitonic_sort.cuh's blocks, beyond one block. Enqueued to a stream; nothing is allocated, nothing
// waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/exec.h"

namespace strata {

// What shuffles take: at most 64 bits. Instantiated for double, float, int32_t, int64_t and
// uint64_t.
constexpr size_t kReduceScratch = 1024;  // values

// *result becomes the sum, the least or the largest of at least one value. `scratch`:
// kReduceScratch values. Sums of floating-point numbers are the same for the same count, whatever
// the GPU.
template <typename T>
void ShuffleReduceSumGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* result);
template <typename T>
void ShuffleReduceMinGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* result);
template <typename T>
void ShuffleReduceMaxGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* result);

// How many values of scratch a prefix sum of so many needs.
size_t PrefixSumScratch(size_t count);

// sums[i] becomes values[0] + ... + values[i]; the two may be one array. For uint32_t and uint64_t,
// modulo their size.
template <typename T>
void ShufflePrefixSumGlobal(const Exec& exec, std::span<const T> values, T* scratch, T* sums);

// Sorts keys, at most 2^32 - 1 of them and none NaN, in place; order[i] becomes where key i was.
// Equal keys keep their order. For float, double, int32_t and uint32_t.
template <typename T>
void BitonicArgSortGlobal(const Exec& exec, std::span<T> keys, uint32_t* order, bool ascending);

}  // namespace strata
