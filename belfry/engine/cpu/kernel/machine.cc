#include "belfry/engine/cpu/kernel/machine.h"

#include <cpuid.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/dnnl/dnnl_check.h"
#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {
namespace {

// The brand string: three leaves of sixteen characters, padded with blanks or zeros.
std::string cpu_model() {
  constexpr unsigned kFirst = 0x80000002, kLeaves = 3;
  std::array<char, kLeaves * 16 + 1> text{};
  for (unsigned i = 0; i < kLeaves; ++i) {
    std::array<unsigned, 4> registers{};
    if (__get_cpuid(kFirst + i, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return "unknown";
    std::memcpy(text.data() + i * sizeof registers, registers.data(), sizeof registers);
  }
  const std::string_view model = text.data();
  const std::size_t begin = model.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "unknown";
  return std::string(model.substr(begin, model.find_last_not_of(' ') - begin + 1));
}

// Letters and digits in lower case, with one dash for anything between them.
std::string as_file_name(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  return out;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::map<std::string, std::string> this_machine() {
  return {{"cpu", cpu_model()},
          {"isa", std::string(name_of(cpu_isa()))},
          {"onednn", dnnl_version_text()},
          {"threads", std::to_string(hardware_threads())}};
}

std::string to_text(const std::map<std::string, std::string>& machine) {
  std::string out;
  for (const auto& [what, value] : machine) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", what, value);
  return out;
}

std::string autotune_cache_file(const std::map<std::string, std::string>& machine) {
  const std::string_view cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  const bool has_cache = cache.starts_with('/');  // the standard: a relative path is to be ignored
  BELFRY_CHECK(has_cache || !home.empty(),
               "[autotune] expected XDG_CACHE_HOME or HOME, for where to keep this machine's choices, got neither. "
               "Set SessionConfig::autotune.file.");
  return fmt::format("{}{}/belfry/autotune-{}.json", has_cache ? cache : home, has_cache ? "" : "/.cache",
                     as_file_name(to_text(machine)));
}

}  // namespace belfry
