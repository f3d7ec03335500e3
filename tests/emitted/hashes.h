// Hashes of emitted texts: made, read, written, compared.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/emitted/cases.h"

namespace wkvc::test {

using Hashes = std::map<std::string, std::string>;  // by the name of the case

// Calls f(case, its text) for each case, from several threads at once.
void for_each_text(const std::vector<EmittedCase>& cases,
                   const std::function<void(const EmittedCase&, const std::string&)>& f);

Hashes hashes_of(const std::vector<EmittedCase>& cases);
Hashes read_hashes(const std::string& path);
void write_hashes(const std::string& path, const Hashes& hashes);

// Returns a line for each case that changed, is new or is gone.
std::vector<std::string> changes(const Hashes& kept, const Hashes& made);

}  // namespace wkvc::test
