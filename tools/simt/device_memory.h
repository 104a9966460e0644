// The memory of the GPUs that there are not: what has been given out, and how much there is.
#pragma once

#include <cstddef>
#include <string_view>

namespace simt {

// Thread-safe. All GPUs share the bytes.
bool TakeBytes(size_t bytes);  // false: there are not so many left
void GiveBackBytes(size_t bytes);
// Addresses that are a GPU's.
void AddRange(const void* memory, size_t bytes);
size_t RemoveRange(const void* memory);  // how long it was; ends the process if there is none
// Whether a call of this name is to fail now (simtFail).
bool Fails(std::string_view call);
// After a fault of a kernel no call succeeds any more.
void SetFault();

}  // namespace simt
