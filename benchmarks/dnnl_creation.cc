#include "benchmarks/dnnl_creation.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl_types.h>

#include <atomic>
#include <chrono>

namespace {

std::atomic<std::int64_t> nanoseconds{0};
thread_local int depth = 0;  // oneDNN's functions call one another

// Calls the function of this name in the library that comes next, and adds the time it takes, unless it is part of a
// call that is timed already.
template <class... Arguments>
dnnl_status_t timed(const char* name, Arguments... arguments) {
  using Function = dnnl_status_t (*)(Arguments...);
  const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  ++depth;
  const auto begin = std::chrono::steady_clock::now();
  const dnnl_status_t status = real(arguments...);
  if (--depth > 0) return status;
  nanoseconds += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return status;
}

}  // namespace

#pragma GCC visibility push(default)  // what libbelfry calls must be found here before oneDNN
extern "C" {

dnnl_status_t dnnl_primitive_create(dnnl_primitive_t* primitive, const_dnnl_primitive_desc_t descriptor) {
  return timed("dnnl_primitive_create", primitive, descriptor);
}
dnnl_status_t dnnl_primitive_desc_create(dnnl_primitive_desc_t* descriptor, const_dnnl_op_desc_t operation,
                                         const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine,
                                         const_dnnl_primitive_desc_t forward) {
  return timed("dnnl_primitive_desc_create", descriptor, operation, attributes, engine, forward);
}
dnnl_status_t dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t* descriptor, const dnnl_memory_desc_t* from,
                                                 dnnl_engine_t from_engine, const dnnl_memory_desc_t* to,
                                                 dnnl_engine_t to_engine, const_dnnl_primitive_attr_t attributes) {
  return timed("dnnl_reorder_primitive_desc_create", descriptor, from, from_engine, to, to_engine, attributes);
}

dnnl_status_t dnnl_primitive_desc_iterator_create(dnnl_primitive_desc_iterator_t* iterator,
                                                  const_dnnl_op_desc_t operation,
                                                  const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine,
                                                  const_dnnl_primitive_desc_t forward) {
  return timed("dnnl_primitive_desc_iterator_create", iterator, operation, attributes, engine, forward);
}
dnnl_status_t dnnl_primitive_desc_iterator_next(dnnl_primitive_desc_iterator_t iterator) {
  return timed("dnnl_primitive_desc_iterator_next", iterator);
}

}  // extern "C"
#pragma GCC visibility pop

namespace belfry::bench {

double seconds_making_primitives() { return static_cast<double>(nanoseconds.load()) * 1e-9; }

}  // namespace belfry::bench
