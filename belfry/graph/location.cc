#include "belfry/graph/location.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "belfry/graph/internal/forward_location.h"

namespace belfry {
namespace {
thread_local std::optional<Location> active;

// Where a default argument is evaluated if the standard library makes the call: in make_unique(), say.
bool in_system_header(std::string_view file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/");
}
}  // namespace

std::string to_string(const Location& location) {
  if (location.line() == 0 || in_system_header(location.file_name())) return "an unknown line";
  const char* slash = std::strrchr(location.file_name(), '/');
  return std::string(slash != nullptr ? slash + 1 : location.file_name()) + ":" + std::to_string(location.line());
}

LocationScope::LocationScope(const Location& location) : outermost_(!active) {
  if (outermost_) active = location;
}

LocationScope::~LocationScope() {
  if (outermost_) active.reset();
}

ForwardLocation::ForwardLocation(const Location& forward) : before_(std::exchange(active, forward)) {}
ForwardLocation::~ForwardLocation() { active = before_; }

Location current_location(const Location& fallback) { return active.value_or(fallback); }

}  // namespace belfry
