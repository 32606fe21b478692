#include "belfry/dataflow/internal/origin.h"

#include <utility>

namespace belfry {
namespace {

// The deleter of the memory's owner: the one part of a shared_ptr<void> that can be asked for its type.
struct ReleaseOf {
  Array array;
  Origin origin;
  void operator()(void*) { array = {}; }
};

}  // namespace

Array with_origin(Array array, Origin origin) {
  if (!origin) return array;
  const DType dtype = array.dtype();
  const Shape shape = array.shape();
  void* const memory = array.raw();
  return {dtype, shape, memory, std::shared_ptr<void>(memory, ReleaseOf{std::move(array), std::move(origin)})};
}

Origin origin_of(const Array& array) {
  const auto* release = std::get_deleter<ReleaseOf>(array.owner());
  return release != nullptr ? release->origin : nullptr;
}

Origin origin_of(const DataPoint& point) {
  for (const Array& component : point)
    if (Origin origin = origin_of(component)) return origin;
  return nullptr;
}

}  // namespace belfry
