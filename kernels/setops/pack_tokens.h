// Tokens for a GPU, copied to where it takes them from.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/setops/instruction_set.h"
#include "strata/set_list.h"

namespace strata {

// Copies the tokens, from 32 bits the lower 16, and returns the largest of them; 0: none. As fast
// as memory, with AVX-512 or AVX2 where there is one of them. The processor has the instruction
// set.
Token PackTokens(std::span<const Token> tokens, uint16_t* to,
                 InstructionSet set = FastestInstructionSet());
Token PackTokens(std::span<const uint16_t> tokens, uint16_t* to,
                 InstructionSet set = FastestInstructionSet());
Token PackTokens(std::span<const Token> tokens, Token* to,
                 InstructionSet set = FastestInstructionSet());
Token PackTokens(std::span<const uint16_t> tokens, Token* to,
                 InstructionSet set = FastestInstructionSet());

}  // namespace strata
