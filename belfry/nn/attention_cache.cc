#include "belfry/nn/attention_cache.h"

#include "belfry/base/check.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/initializers.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

void check_options(const char* where, const KeyValueCacheOptions& o, const Location& line) {
  BELFRY_CHECK(o.capacity > 0 && o.units > 0, "[{}] expected .capacity and .units above 0, got {} and {} (at {})",
               where, o.capacity, o.units, to_string(line));
  BELFRY_CHECK(is_float(o.dtype), "[{}] expected a floating-point .dtype, got {} (at {})", where, name_of(o.dtype),
               to_string(line));
}

}  // namespace

KeyValueCache key_value_cache(const Size& batch, const KeyValueCacheOptions& options, const Location& where) {
  check_options("key_value_cache", options, where);
  const LocationScope location(where);
  const auto empty = [&] { return zeros({batch, options.capacity, options.units}, options.dtype); };
  return {.keys = empty(), .values = empty()};
}

KeyValueCache key_value_variables(std::string_view name, std::int64_t batch, const KeyValueCacheOptions& options,
                                  const Location& where) {
  check_options("key_value_variables", options, where);
  const VariableScope scope(name);
  const auto variable = [&](const char* what) {
    return new_variable(what,
                        {.shape = {batch, options.capacity, options.units},
                         .dtype = options.dtype,
                         .initializer = init::zeros(),
                         .trainable = false,
                         .collections = {std::string(collection::kLocalVariables)}},
                        where);
  };
  KeyValueCache out{.kept_keys = variable("keys"), .kept_values = variable("values")};
  out.keys = out.kept_keys;
  out.values = out.kept_values;
  return out;
}

Tensors tensors_of(const std::vector<KeyValueCache>& caches) {
  Tensors out;
  for (const KeyValueCache& cache : caches) {
    out.push_back(cache.keys);
    out.push_back(cache.values);
  }
  return out;
}

std::vector<KeyValueCache> caches_of(const Tensors& tensors) {
  BELFRY_CHECK(tensors.size() % 2 == 0, "[caches_of] expected keys and values in turn, got {} tensors", tensors.size());
  std::vector<KeyValueCache> out;
  for (std::size_t i = 0; i < tensors.size(); i += 2) out.push_back({.keys = tensors[i], .values = tensors[i + 1]});
  return out;
}

}  // namespace belfry
