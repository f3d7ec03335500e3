// Names for values that nobody named, from the operation that makes them and the names of its operands.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>

namespace wkvc {

// Returns the name without what says how the value is stored: "k" of "k_f16", "k_f32" and "k_shared".
llvm::StringRef without_storage(llvm::StringRef name);

// Returns a name for function(operands), "dRB_lower" for "tril" of "dRB". Functions of levels have the level's `half`
// in the name. Operands without a name are left out; empty where none has one. A name that would be too long to read is
// that of the first operand and "_part".
std::string derived_name(llvm::StringRef function, llvm::ArrayRef<std::string> operands, int64_t half = 0);

}  // namespace wkvc
