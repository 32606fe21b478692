#include "belfry/graph/attributes.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {
namespace {

auto position(auto& items, std::string_view name) {
  return std::lower_bound(items.begin(), items.end(), name,
                          [](const auto& item, std::string_view n) { return item.first < n; });
}

void put(Attributes::Items& items, std::string name, Attribute value) {
  const auto at = position(items, name);
  if (at != items.end() && at->first == name)
    at->second = std::move(value);
  else
    items.emplace(at, std::move(name), std::move(value));
}

struct Printer {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return fmt::format("{:g}", v); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(DType v) const { return std::string(name_of(v)); }
  std::string operator()(const Shape& v) const { return belfry::to_string(v); }
  std::string operator()(const Ints& v) const {
    std::string text = "{";
    for (std::size_t i = 0; i < v.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(v[i]);
    return text + "}";
  }
  std::string operator()(const Array& v) const { return belfry::to_string(v); }
  std::string operator()(const std::shared_ptr<const SubGraph>&) const { return "function"; }
};

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> items) {
  Items made;
  made.reserve(items.size());
  for (const auto& [name, value] : items) put(made, name, value);
  if (!made.empty()) items_ = std::make_shared<const Items>(std::move(made));
}

const Attributes::Items& Attributes::none() {
  static const Items none;
  return none;
}

const Attribute* Attributes::find(std::string_view name) const {
  const auto at = position(items(), name);
  return at != items().end() && at->first == name ? &at->second : nullptr;
}

void Attributes::set(std::string name, Attribute value) {
  Items changed = items();
  put(changed, std::move(name), std::move(value));
  items_ = std::make_shared<const Items>(std::move(changed));
}

// The caller of a rule or a kernel adds the op's name in front and its source line at the end.
void Attributes::missing(std::string_view name) const {
  if (const Attribute* found = find(name))
    fail("expected an attribute '{}' of the type that was requested, got {} of another type", name,
         belfry::to_string(*found));
  std::string given;
  for (const auto& [other, value] : items()) given += fmt::format("{}'{}'", given.empty() ? "" : ", ", other);
  fail("expected an attribute '{}', got {}", name, given.empty() ? "none" : "only " + given);
}

bool equal(const Attributes& a, const Attributes& b) {
  if (&a.items() == &b.items()) return true;
  return std::ranges::equal(a.items(), b.items(), [](const auto& x, const auto& y) {
    if (x.first != y.first || x.second.index() != y.second.index()) return false;
    if (const auto* array = std::get_if<Array>(&x.second)) return equal(*array, std::get<Array>(y.second));
    return std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, Array>)
            return true;
          else
            return v == std::get<T>(y.second);
        },
        x.second);
  });
}

std::string to_string(const Attribute& value) { return std::visit(Printer{}, value); }

}  // namespace belfry
