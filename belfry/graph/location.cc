#include "belfry/graph/location.h"

#include <cstring>
#include <optional>

namespace belfry {
namespace {
thread_local std::optional<Location> active;
}  // namespace

std::string to_string(const Location& location) {
  const char* slash = std::strrchr(location.file_name(), '/');
  return std::string(slash != nullptr ? slash + 1 : location.file_name()) + ":" + std::to_string(location.line());
}

LocationScope::LocationScope(const Location& location) : outermost_(!active) {
  if (outermost_) active = location;
}

LocationScope::~LocationScope() {
  if (outermost_) active.reset();
}

Location current_location(const Location& fallback) { return active.value_or(fallback); }

}  // namespace belfry
