#include "belfry/base/internal/class_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace belfry {

std::string class_name(const std::type_info& type) {
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr),
                                                     std::free);
  return plain != nullptr ? plain.get() : type.name();
}

std::string short_class_name(const std::type_info& type) {
  const std::string full = class_name(type);
  // What follows the last "::" outside template arguments and "(anonymous namespace)".
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < full.size(); ++i) {
    depth += (full[i] == '<' || full[i] == '(') - (full[i] == '>' || full[i] == ')');
    if (depth == 0 && full[i] == ':' && full[i + 1] == ':') begin = i + 2;
  }
  return full.substr(begin);
}

}  // namespace belfry
