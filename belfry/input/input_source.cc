#include "belfry/input/input_source.h"

#include "belfry/base/check.h"
#include "belfry/base/internal/class_name.h"

namespace belfry {

std::string InputSource::name() const { return short_class_name(typeid(*this)); }

Callbacks InputSource::setup(std::vector<TensorSpec> signature, const Location& where) {
  BELFRY_CHECK(!signature_.has_value(), "[{}] expected setup() once, got it a second time (at {}). Make another input.",
               name(), to_string(where));
  signature_ = std::move(signature);
  where_ = where;
  return make_callbacks();
}

Tensors InputSource::get_input_tensors(const Location& where) {
  BELFRY_CHECK(is_set_up(), "[{}] expected setup() before its tensors are used, got none (at {}).", name(),
               to_string(where));
  where_ = where;
  return make_tensors();
}

const std::vector<TensorSpec>& InputSource::signature() const {
  BELFRY_CHECK(signature_.has_value(), "[{}] expected setup() before its tensors are used, got none.", name());
  return *signature_;
}

namespace {

std::string remedy_for(const TensorSpec& spec, const Array& component) {
  const bool unbatched = component.dtype() == spec.dtype && spec.shape.rank() == component.shape().rank() + 1 &&
                         compatible(component.shape(), spec.shape.without(0));
  return unbatched ? "Batch the flow: flow | batch(32)" : "Map the flow, or change the input";
}

}  // namespace

void check_point(const std::string& where, const std::vector<TensorSpec>& signature, const std::vector<Array>& point,
                 const std::optional<Location>& line) {
  const auto at = [&] { return line ? fmt::format(" (at {})", to_string(*line)) : std::string(); };
  BELFRY_CHECK(point.size() == signature.size(),
               "[{}] expected points of {} components, one for each input, got one of {}. Select components, or change "
               "the inputs{}.",
               where, signature.size(), point.size(), at());
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const TensorSpec& spec = signature[i];
    if (point[i].dtype() == spec.dtype && compatible(point[i].shape(), spec.shape)) continue;
    fail("[{}] input '{}' expects {} {}, the flow's component {} is {} {}. {}{}.", where, spec.name,
         name_of(spec.dtype), to_string(spec.shape), i, name_of(point[i].dtype()), to_string(point[i].shape()),
         remedy_for(spec, point[i]), at());
  }
}

void check_first(const std::string& where, const std::vector<TensorSpec>& signature,
                 const std::optional<std::vector<Array>>& point, const Location& line) {
  BELFRY_CHECK(point.has_value(),
               "[{}] expected a flow with points, got an empty one (at {}). Check what it reads; batch() omits a last "
               "batch that is not full, unless given Remainder::keep.",
               where, to_string(line));
  check_point(where, signature, *point, line);
}

}  // namespace belfry
