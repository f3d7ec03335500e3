// What a user should know although nothing failed. The library prints nothing; the program decides where it goes.
#pragma once

#include <functional>
#include <string_view>

namespace wkvc {

// From now on every warning of this process is passed to `handler`, by whichever thread it comes up in; an empty
// function (as in the beginning): nobody hears of them. Its exceptions are dropped. Returns the handler until now.
std::function<void(std::string_view)> on_warning(std::function<void(std::string_view)> handler);

// Of several warnings with the same `about`, the handler gets the first. Internal to the library.
void warn_once(std::string_view about, std::string_view text) noexcept;

}  // namespace wkvc
