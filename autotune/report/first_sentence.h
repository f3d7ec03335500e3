// What a table or record shows of a message that goes on with advice and maps.
#pragma once

#include <string>

namespace wkvc {

inline std::string first_sentence(const std::string& message) {
  return message.substr(0, message.find_first_of(";\n"));
}

}  // namespace wkvc
