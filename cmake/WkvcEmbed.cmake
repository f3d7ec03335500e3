# wkvc_embed_headers(OUT root files…): OUT.cpp defines wkvc::embedded_headers() (runtime/base/embedded.h), with every file's
# text under its path relative to `root`. It is written again when a file changes.
set(WKVC_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedHeaders.cmake)

function(wkvc_embed_headers out root)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DOUT=${out}" "-DROOT=${root}" "-DFILES=${ARGN}" -P ${WKVC_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${WKVC_EMBED_SCRIPT}
    COMMENT "Embedding the templates"
    VERBATIM)
endfunction()
