// The static arguments of an operation: a few named values, compared and printed by the compiler's passes. Copies share
// them until one is changed. Copies may be used and changed on different threads at the same time, a single object may
// not.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

struct [[gnu::visibility("hidden")]] SubGraph;

using Ints = std::vector<std::int64_t>;
using Attribute =
    std::variant<bool, std::int64_t, double, std::string, DType, Shape, Ints, Array, std::shared_ptr<const SubGraph>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> items);

  // The value of `name`; throws if it is missing or of another type.
  template <class T>
  const T& get(std::string_view name) const {
    const Attribute* found = find(name);
    if (found == nullptr || !std::holds_alternative<T>(*found)) missing(name);
    return std::get<T>(*found);
  }
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    const Attribute* found = find(name);
    return found != nullptr && std::holds_alternative<T>(*found) ? std::get<T>(*found) : fallback;
  }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  bool flag(std::string_view name) const { return get_or<bool>(name, false); }

  const Attribute* find(std::string_view name) const;
  void set(std::string name, Attribute value);  // invalidates what find(), get() and items() returned
  using Items = std::vector<std::pair<std::string, Attribute>>;
  const Items& items() const { return items_ == nullptr ? none() : *items_; }

 private:
  static const Items& none();
  [[noreturn]] void missing(std::string_view name) const;
  std::shared_ptr<const Items> items_{};  // sorted by name, never changed; none until one is set
};

bool equal(const Attributes& a, const Attributes& b);
std::string to_string(const Attribute& value);

}  // namespace belfry
#pragma GCC visibility pop
