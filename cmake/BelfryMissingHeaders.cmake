# belfry_missing_headers(component headers): installs public headers of a part that is not built. They declare
# everything, but calling one of their functions, or taking its address, is a compiler error that names the part and says
# what to do. Declarations are found by the form of their lines, as in scripts/docs.
function(belfry_missing_headers component headers)
  set(text "\"Belfry was built without its part '${component}': ${belfry_why_${component}}.\"")
  set(mark BELFRY_WITHOUT_${component})
  set(definition "#define ${mark} __attribute__((unavailable(${text})))")
  foreach(header IN LISTS headers)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} content)
    string(REPLACE "#pragma once\n" "#pragma once\n\n${definition}\n" content "${content}")
    string(REGEX REPLACE "\n([A-Za-z_][A-Za-z_0-9:<>]*[&*]? [a-z_][a-z_0-9]*\\()" "\n${mark} \\1" content "${content}")
    # A class of a part is constructed from a place (for example an address).
    string(REGEX REPLACE "\n  (explicit [A-Z][A-Za-z]*\\(const std::string&)" "\n  ${mark} \\1" content "${content}")
    file(WRITE ${CMAKE_BINARY_DIR}/missing/${header} "${content}")
  endforeach()
endfunction()
