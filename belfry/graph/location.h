// Where in the user's source something was created. Travels with operands, so that every operation remembers the
// line that made it and errors at run time can name it.
#pragma once

#include <source_location>
#include <string>

#pragma GCC visibility push(default)
namespace belfry {

using Location = std::source_location;

std::string to_string(const Location& location);  // "train.cc:42"

// Operations made inside a scope are attributed to its location: a layer's to the line that used the layer, a
// gradient's to the line of the forward operation. The outermost scope wins.
class LocationScope {
 public:
  explicit LocationScope(const Location& location);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  bool outermost_ = false;
};

// The active scope's location, else `fallback`.
Location current_location(const Location& fallback);

}  // namespace belfry
#pragma GCC visibility pop
