// The process's heap.
#pragma once

namespace strata {

// Lets malloc keep blocks of up to 8 MiB that are freed, and as much at the end of each of its
// arenas. By default glibc hands what a message of some 100 KiB lay in back to the kernel as soon
// as it has been sent, and the next one pays for each of its pages again. Call it before the first
// thread starts.
void KeepFreedMemory();

}  // namespace strata
