// Texts with something wrong in them.
#pragma once

#include <random>
#include <string>

namespace wkvc::test {

// Deletes, repeats, moves or replaces a line or a word of `text`, one to three times.
std::string mutated(std::string text, std::mt19937& random);

}  // namespace wkvc::test
