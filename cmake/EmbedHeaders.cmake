# Run with cmake -P by wkvc_embed_headers: writes OUT with the texts of FILES as raw string literals.
set(entries "")
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} text)
  string(FIND "${text}" ")wkvc_text\"" delimiter)
  if(NOT delimiter EQUAL -1)
    message(FATAL_ERROR "${file} contains )wkvc_text\", which ends the literal that it is embedded as: reword it.")
  endif()
  string(APPEND entries "    {\"${name}\", R\"wkvc_text(${text})wkvc_text\"},\n")
endforeach()

file(WRITE ${OUT} "// Written by cmake/EmbedHeaders.cmake.
#include \"runtime/base/embedded.h\"

namespace wkvc {
namespace {
constexpr EmbeddedHeader headers[] = {
${entries}};
}  // namespace

std::span<const EmbeddedHeader> embedded_headers() { return headers; }
}  // namespace wkvc
")
