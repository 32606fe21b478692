// The properties of this machine that measured times depend on. Internal to engine.
#pragma once

#include <map>
#include <string>

namespace belfry {

// "cpu": the model's name, "isa", "onednn": its version, "threads": cores this process may use.
std::map<std::string, std::string> this_machine();

// "cpu Intel(R) Xeon(R) Processor, isa avx512, ...", for people.
std::string to_text(const std::map<std::string, std::string>& machine);

// Where such times are kept by default: a file for each kind of machine (home directories may be shared) in
// $XDG_CACHE_HOME/belfry or ~/.cache/belfry. Throws Error if the environment names neither.
std::string autotune_cache_file(const std::map<std::string, std::string>& machine);

}  // namespace belfry
