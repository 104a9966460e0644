// Pinned bytes: tests/golden/README.md.
#pragma once

#include <string>
#include <string_view>

namespace strata {

// What the file NAME of tests/golden pins: its own bytes, or those that a .hex file spells.
std::string Golden(const std::string& name);

// A failure of the test unless `bytes` are what the file pins. STRATA_GOLDEN_WRITE=1 in the
// environment writes the file first.
void ExpectGolden(const std::string& name, std::string_view bytes);

}  // namespace strata
