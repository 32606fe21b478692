#include "belfry/tower/inputs.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"

namespace belfry {

Inputs::Inputs(const std::vector<TensorSpec>& signature, Tensors tensors, const Location& where)
    : tensors_(std::move(tensors)) {
  BELFRY_CHECK(tensors_.size() == signature.size(),
               "[tower function] expected {} inputs, one for each in the signature, got {} (at {}).", signature.size(),
               tensors_.size(), to_string(where));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const TensorSpec& spec = signature[i];
    BELFRY_CHECK(static_cast<bool>(tensors_[i]) && tensors_[i].dtype() == spec.dtype &&
                     compatible(tensors_[i].shape(), spec.shape),
                 "[tower function] input '{}' expects {} {}, got {} (at {}).", spec.name, name_of(spec.dtype),
                 to_string(spec.shape), to_string(tensors_[i]), to_string(where));
    names_.push_back(spec.name);
  }
}

const Tensor& Inputs::operator[](std::string_view name) const {
  const auto at = std::ranges::find(names_, name);
  if (at == names_.end())
    fail("[inputs] expected the name of an input, got '{}'.{}", name, did_you_mean(std::string(name), names_));
  return tensors_[static_cast<std::size_t>(at - names_.begin())];
}

const Tensor& Inputs::operator[](std::size_t index) const {
  BELFRY_CHECK(index < tensors_.size(), "[inputs] expected a number below {}, got {}.", tensors_.size(), index);
  return tensors_[index];
}

}  // namespace belfry
